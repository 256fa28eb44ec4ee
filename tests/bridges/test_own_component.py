"""A component that is in no catalogue of the suite is spoken of over the wire like any other."""

from __future__ import annotations

import json
from abc import abstractmethod
from enum import StrEnum
from io import BytesIO
from types import MappingProxyType
from typing import Any

import jsonschema
import pytest
from msgspec import Struct

from conformance.bridges.jsonl import Client, JsonLinesImplementation
from conformance.bridges.jsonl.page import schema_text, with_sections
from conformance.bridges.jsonl.protocol import (
    PROTOCOL,
    Greeting,
    Hello,
    Open,
    Reply,
    Request,
    decode_reply,
    decode_request,
    encode,
)
from conformance.bridges.jsonl.serve import Server, serve
from conformance.ports import (
    INTERFACES,
    Answer,
    Capability,
    DequeConfig,
    DequePort,
    ErrorKind,
    Implementation,
    Interface,
    Interfaces,
    Port,
    PortError,
    Resources,
)
from conformance.ports.implementation import Factory
from conformance.scheduling import Waitable


class Metal(StrEnum):
    COPPER = "copper"
    SILVER = "silver"


class Coin(Struct, frozen=True):
    """What is put into a purse."""

    metal: Metal
    cents: int


class PurseConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The coins that are in it at first."""

    coins: tuple[Coin, ...]


class PursePort(Port):
    """Coins, first in, first out."""

    @abstractmethod
    def put(self, coin: Coin) -> Answer[int]:
        """Put one in; answers how many there are."""

    @abstractmethod
    def take(self) -> Answer[Coin]:
        """Take one out. Waits until there is one."""


class Purse(PursePort):
    def __init__(self, config: PurseConfig) -> None:
        self.coins = list(config.coins)

    def put(self, coin: Coin) -> int:
        if not coin.cents:
            raise PortError(ErrorKind.ARGUMENT, "a coin is worth something")
        self.coins.append(coin)
        return len(self.coins)

    async def take(self) -> Coin:
        if not self.coins:
            await Filled(self)
        return self.coins.pop(0)

    def resources(self) -> Resources:
        return Resources()

    def release(self) -> None:
        self.coins.clear()


class Filled(Waitable):
    def __init__(self, purse: Purse) -> None:
        super().__init__("until filled")
        self.purse = purse

    def ready(self) -> bool:
        return bool(self.purse.coins)


class Pocket(Implementation):
    name = "pocket"

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset()

    def components(self) -> dict[str, Factory]:
        return {"purse": Purse, "deque": lambda _: pytest.fail("nobody asks for a deque")}


MINE: Interfaces = MappingProxyType({"purse": Interface(PursePort, PurseConfig)})
BOTH: Interfaces = MappingProxyType({"deque": Interface(DequePort, DequeConfig), **MINE})
CONFIG = PurseConfig((Coin(Metal.SILVER, 50),))


class Here(Client):
    """Speaks with a program in this process; all passes through bytes as it does elsewhere."""

    def __init__(self, interfaces: Interfaces) -> None:
        super().__init__(())
        self.server = Server(Pocket(), interfaces)
        self.asked: list[Request] = []

    @property
    def greeting(self) -> Greeting:
        reply = self.reply(Hello(PROTOCOL, "0"))
        assert isinstance(reply, Greeting)
        return reply

    def reply(self, message: Request) -> Reply:
        request = decode_request(encode(message))
        self.asked.append(request)
        return decode_reply(encode(self.server.answer(request)))

    def close(self) -> str:
        return ""


def wired(spoken: Interfaces, served: Interfaces) -> JsonLinesImplementation:
    implementation = JsonLinesImplementation((), interfaces=spoken)
    implementation.client = Here(served)
    return implementation


def finish(operation: Any) -> Any:
    with pytest.raises(StopIteration) as end:
        operation.send(None)
    return end.value.value


def test_its_operations_are_performed_at_the_other_end():
    made = wired(MINE, MINE)
    assert list(made.components()) == ["purse"]
    purse: Any = made.components()["purse"](CONFIG)
    assert isinstance(purse, PursePort)
    assert purse.put(Coin(Metal.COPPER, 1)) == 2
    assert [purse.take(), purse.take()] == [Coin(Metal.SILVER, 50), Coin(Metal.COPPER, 1)]
    with pytest.raises(PortError, match="worth something"):
        purse.put(Coin(Metal.COPPER, 0))
    assert purse.release() is None


def test_its_operation_that_waits_is_gone_on_with():
    purse: Any = wired(MINE, MINE).components()["purse"](PurseConfig(()))
    taking = purse.take()
    waits_for = taking.send(None)
    assert not waits_for.ready()
    purse.put(Coin(Metal.SILVER, 5))
    assert waits_for.ready()
    assert finish(taking) == Coin(Metal.SILVER, 5)


def test_its_scenario_runs_in_one_message():
    made = wired(MINE, MINE)
    assert made.batch is not None
    outcomes = made.batch("purse", CONFIG, [("new",), ("take",), ("put", Coin(Metal.COPPER, 2))])
    assert [one.value for one in outcomes] == [None, Coin(Metal.SILVER, 50), 1]


def test_the_doctor_opens_it_although_its_configuration_has_no_default():
    made = JsonLinesImplementation((), interfaces=MINE)
    made.client = client = Here(MINE)
    assert [one for one in made.examine() if one.wrong or one.what == "components"] == []
    assert Open("purse", {"coins": [{"metal": "copper", "cents": 0}]}) in client.asked


@pytest.mark.parametrize(
    ("spoken", "served", "offered"), [(MINE, BOTH, ["purse"]), (BOTH, MINE, ["purse"]), (INTERFACES, BOTH, ["deque"])]
)
def test_only_what_both_ends_know_is_offered(spoken, served, offered):
    assert list(wired(spoken, served).components()) == offered


def test_what_is_in_no_catalogue_is_refused():
    lines = encode(Hello(PROTOCOL, "0")) + encode(Open("purse", {"coins": []}))
    for interfaces, last in ((MINE, "opened"), (INTERFACES, "error")):
        answers = BytesIO()
        serve(Pocket(), BytesIO(lines), answers, interfaces)
        assert json.loads(answers.getvalue().splitlines()[-1])["type"] == last


def test_page_and_schema_describe_it():
    page = with_sections(
        "".join(f"<!-- generated: {name} -->\n<!-- end -->\n" for name in ("components", "values", "texts")), MINE
    )
    assert "### purse\n\nCoins, first in, first out." in page
    assert "| `put` | `coin`: `Coin` | integer | Put one in; answers how many there are. |" in page
    assert "| `Coin` | `metal`: `Metal`, `cents`: integer | What is put into a purse. |" in page
    assert "| `Metal` | `copper`; `silver` |" in page
    assert "deque" not in page
    described = json.loads(schema_text(MINE))
    jsonschema.Draft202012Validator.check_schema(described)
    assert {"PurseConfig", "Coin", "Metal"} < set(described["$defs"])
    assert "DequeConfig" not in described["$defs"]
