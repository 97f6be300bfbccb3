"""Every model keeps its promises in every state; its broken twins do not; and it does what the real code does."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from harness.doc_tables import witnesses
from jobrunner.lifecycle import TRANSITIONS
from jobrunner.store import statements
from models import effects, gates, idle, leases, own_hosts, quarantine, slots, tokens
from models.explorer import Refuted, explore

_ALL = (effects, gates, idle, leases, own_hosts, quarantine, slots, tokens)
MODELS = {each.__name__.rpartition(".")[2]: each for each in _ALL}
TWINS = [(name, twin) for name, module in MODELS.items() for twin in module.TWINS]
ROOT = Path(__file__).parents[2]
NOT_MODELS = {
    "effect_rules",
    "explorer",
    "idle_rules",
    "lease_rules",
    "test_explorer",
    "test_idle_agrees",
    "test_models",
}


@pytest.mark.timeout(600)  # for a busy machine: the largest one takes ten seconds of a processor
@pytest.mark.parametrize("name", MODELS)
def test_promises_of_a_model_hold_in_every_state_and_all_of_its_actions_happen(name: str) -> None:
    module = MODELS[name]
    found = [explore(module.model(world)) for world in module.WORLDS.values()]
    only_in_twins: set[str] = getattr(module, "ONLY_IN_TWINS", set())
    assert set.union(*(each.actions for each in found)) == module.ACTIONS.keys() - only_in_twins
    assert set.union(*(each.events for each in found)) == set(module.EVENTS)


@pytest.mark.parametrize(("name", "twin"), TWINS)
def test_broken_twin_of_a_model_fails_with_the_way_to_the_harm(name: str, twin: str) -> None:
    world, problem = MODELS[name].TWINS[twin]
    with pytest.raises(Refuted) as refuted:
        explore(MODELS[name].model(world))
    told = str(refuted.value)
    assert told.startswith(problem), told
    assert len(re.findall(r"^ *\d+\. \S.*: ", told, re.MULTILINE)) > 1, told


@pytest.mark.parametrize("name", MODELS)
def test_every_action_of_a_model_is_a_statement_or_a_function_of_the_code(name: str) -> None:
    """What has a space in its name is no doing of ours: a fault, or what the server, the kernel or time does."""
    unknown = [action for action in MODELS[name].ACTIONS if " " not in action and not is_in_the_code(action)]
    assert unknown == []


def test_every_transition_of_a_run_is_an_action_of_a_model() -> None:
    taken = set().union(*(module.EVENTS for module in MODELS.values()))
    assert {each.event for each in TRANSITIONS} == taken


def test_page_of_the_promises_links_each_of_them_to_its_models() -> None:
    found = witnesses().items()
    linked = {(promise, name) for promise, each in found for name in re.findall(r"tests/models/(\w+)\.py", each.models)}
    promised = {(name.partition(":")[0], each) for each, module in MODELS.items() for name in promises(module)}
    promised = {(promise, each) for promise, each in promised if promise.startswith("P")}
    assert linked == promised


def promises(module: ModuleType) -> set[str]:
    """What the models of this module are checked for."""
    models = [module.model(world) for world in module.WORLDS.values()]
    return {name for model in models for name in (*model.always, *model.at_last)}


def test_every_module_here_is_a_model_that_is_explored() -> None:
    assert {path.stem for path in Path(__file__).parent.glob("*.py")} == {*MODELS, *NOT_MODELS}


def is_in_the_code(name: str) -> bool:
    first, *rest = name.split(".")
    # A statement has one dot in its name. A room of the code may have the name of a module of statements.
    module = statements.modules().get(first) if len(rest) == 1 else None
    found = _within(import_module(module), rest) if module else _named(f"jobrunner.{name}")
    return callable(found)


def _named(name: str) -> object:
    before, _, last = name.rpartition(".")
    try:
        return _within(import_module(before), [last])
    except ModuleNotFoundError:
        return getattr(_named(before), last, None)


def _within(module: ModuleType, names: list[str]) -> object:
    found: object = module
    for name in names:
        found = getattr(found, name, None)
    return found
