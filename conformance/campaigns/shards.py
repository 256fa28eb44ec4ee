"""Where the files of blocks stand: at most a thousand in one folder, so that no folder is slow to list or to copy.

DIR/blocks/<component>/<number // 1000>/<number>.json

What is found out when the blocks are done stands in DIR/findings/<number of the implementation>/ (see `kept`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from conformance.campaigns.errors import CampaignError
from conformance.campaigns.plan import Block
from conformance.scenarios.names import as_file_name
from conformance.system.writing import make_folder

BLOCKS = "blocks"
FINDINGS = "findings"
SIZE = 1000
"""How many blocks are in one folder."""
_NUMBER = re.compile(r"(0|[1-9]\d{0,17})(\.json)?")


def path_of(folder: Path, block: Block) -> Path:
    """Return the path of a block in the folder of a campaign."""
    return folder / BLOCKS / as_file_name(block.component) / str(block.number // SIZE) / f"{block.number}.json"


def make_room(folder: Path, path: Path) -> None:
    """Make the folders for a file in the folder of a campaign.

    Raises: CampaignError if one of them is a link; NotWritten.
    """
    for name in reversed(path.relative_to(folder).parents[:-1]):
        if (one := folder / name).is_symlink():
            raise CampaignError(f"{one} is a link out of the folder of the campaign, and nothing is written there.")
    make_folder(path.parent)


def all_paths(folder: Path) -> Iterator[Path]:
    """Yield the files of all blocks, by component and number."""
    for component in _names(folder / BLOCKS):
        for shard in _numbers(folder / BLOCKS / component, ""):
            for number in _numbers(folder / BLOCKS / component / str(shard), ".json"):
                yield folder / BLOCKS / component / str(shard) / f"{number}.json"


def unfinished(folder: Path) -> Iterator[Path]:
    """Yield the files that were incomplete when the campaign was stopped."""
    yield from folder.glob(".*.part")
    for component in _names(folder / BLOCKS):
        for shard in _numbers(folder / BLOCKS / component, ""):
            yield from (folder / BLOCKS / component / str(shard)).glob(".*.part")
    for number in _numbers(folder / FINDINGS, ""):
        yield from (folder / FINDINGS / str(number)).glob(".*.part")


def check_layout(folder: Path) -> None:
    """Raise a CampaignError if an earlier version of this suite wrote the blocks, in one folder."""
    if any(name.endswith(".json") for name in _names(folder / BLOCKS)):
        raise CampaignError(
            f"An earlier version of this suite wrote the blocks in {folder / BLOCKS}, and this version cannot add them "
            "up. Use the earlier version, or start the campaign again in another folder. Its result, if there is one, "
            f"can be shown: conformance campaign report {folder}"
        )


def _names(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _numbers(folder: Path, ending: str) -> list[int]:
    """Return the numbers with which names in a folder begin, in their order. What has another name is no block."""
    found = (_NUMBER.fullmatch(name) for name in _names(folder))
    return sorted(int(one[1]) for one in found if one is not None and (one[2] or "") == ending)
