"""`conformance campaign promote`: a finding of a campaign becomes a scenario of a corpus."""

from __future__ import annotations

from pathlib import Path

import click

from conformance import campaigns, reporting
from conformance.cli.destinations import TO_FOLDER
from conformance.cli.options import chosen_option, out
from conformance.reporting.status import CONFORMS

_USUAL = Path("tests") / "corpus"


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("finding", metavar="FINDING")
@click.option("--ticket", required=True, metavar="TICKET", help="The ticket of the failure, as FLINK-40519.")
@click.option(
    "--corpus", "corpus_path", metavar="FOLDER", type=TO_FOLDER,
    help="The folder of the scenarios.  [default: tests/corpus, if it is there]",
)  # fmt: skip
@chosen_option
def promote(folder: Path, finding: str, ticket: str, corpus_path: Path | None, chosen: tuple[str, ...]) -> int:
    """Write the minimal scenario of a finding into a corpus, for good.

    FINDING is the folder of its bug report, the digits that the folder ends with, or the id of its scenario. The
    scenario must still fail, and must not be in the corpus already.
    """
    if corpus_path is None and not _USUAL.is_dir():
        raise click.UsageError(f"there is no folder {_USUAL} here; name the folder of your scenarios with --corpus")
    if not campaigns.has_ended(folder):
        now = campaigns.so_far(folder, chosen)
        raise campaigns.CampaignError(
            f"The campaign in {folder} has not ended, so its scenarios are not minimal yet. Continue with: {now.resume}"
        )
    result = campaigns.load(folder)
    for line in reporting.promoted_lines(reporting.promote(result, finding, ticket, corpus_path or _USUAL, chosen)):
        out.print(line, soft_wrap=True)
    return CONFORMS
