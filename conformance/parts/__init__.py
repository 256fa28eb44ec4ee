"""What ledgers have in common: parts of their state, with the steps and the rules that belong to them.

A ledger is a few parts and what is special about its component. A rule of a part is `@shared`: it is written against a
Protocol that says what it asks of a ledger, and components adopt it for their own steps. Parts know no component.
"""
