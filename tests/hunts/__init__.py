"""Blind hunts: defects written by people who have not seen the rules, and how many of them the suite finds."""
