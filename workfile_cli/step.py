"""``workfile step``: a simulated run at a prompt. Works at a terminal, and with commands on standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from sim_runtime.stepping import leading_flag
from workfile_cli.console import ColourChoice, write_result
from workfile_cli.main import EXIT_OK
from workfile_cli.options import colour_option, format_option
from workfile_cli.simulating import (
    changes_of,
    print_refusal,
    simulation_options,
    styler,
    write_file,
    yaml_value,
)

if TYPE_CHECKING:
    from sim_runtime.driver.protocol import Decision
    from sim_runtime.history.records import Record
    from sim_runtime.simulation import Simulation
    from sim_runtime.stepping import Stepper

COMMAND = "workfile step"
PROMPT = "> "

#: Why an event is refused, in words.
_REFUSALS: Final = {
    "unmatched": "no open wait takes this event (`unmatched`)",
    "invalid": "its payload is not valid (`invalid`)",
    "duplicate": "its id was accepted already (`duplicate`)",
}
#: Every command with what follows it and what it does.
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "next": ("", "Run the current step as a whole, up to the next one."),
    "into": ("", "One transaction, up to the next durable boundary."),
    "out": ("", "Up to the first step outside the current construct."),
    "continue": ("", "Run to the end, or until nothing can act."),
    "back": ("[N]", "Undo the last command that moved the run, or the last N."),
    "crash": ("", "The executor dies; its history stays."),
    "resume": ("[DURATION]", "The executor is back, after that time."),
    "advance": ("DURATION", "Move the clock; what is due on the way happens."),
    "deliver": (
        "TRIGGER [--id ID] PAYLOAD",
        "Deliver an event, such as `deliver chat.message {text: hello}`.",
    ),
    "decide": ("PATH [--actor NAME] DECISION", "Decide at a hold, such as `decide charge {succeed: {charge_id: c}}`."),
    "cancel": ("[REASON]", "Cancel the run."),
    "state": ("", "The run as it is now."),
    "history": ("[N]", "The last N records (default 10)."),
    "effects": ("", "What the outside world saw."),
    "help": ("", "This list."),
    "quit": ("", "End."),
}

DOWN = "the executor is down; `resume` brings it back"


@click.command("step")
@click.argument("file", metavar="FILE")
@simulation_options
@format_option("text", "json")
@colour_option
def step(
    file: str,
    scenario: str | None,
    inputs: tuple[str, ...],
    trigger: str | None,
    store: str | None,
    history: str | None,
    until: str | None,
    dry_run: bool,
    seed: int | None,
    format_: Literal["text", "json"],
    colour: ColourChoice,
) -> int:
    """Simulate one run interactively; `help` at the prompt lists the commands.

    Commands are also read from standard input, one a line. With `--format json` each is answered by one line of JSON.
    """
    from sim_runtime.simulation import CannotSimulate, prepare
    from sim_runtime.stepping import Stepper

    if store is not None:
        raise click.UsageError("`--store` is for `workfile run`: a run at the prompt goes back as well as on.")
    try:
        prepared = prepare(file, scenario)
        prepared.changes = changes_of(inputs, trigger, until, dry_run, seed, prepared.scenario.start_us)
        session = Session(Stepper(prepared.simulation()), format_, colour)
        session.run(_lines(session))
    except CannotSimulate as error:
        return print_refusal(error, format_, colour, COMMAND)
    if history is not None:
        write_file(history, "".join(session.stepper.simulation.history_lines()), "the history")
    return EXIT_OK


def _lines(session: Session) -> Iterator[str]:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield from sys.stdin
        return
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import InMemoryHistory

    completer = WordCompleter(session.words, sentence=False)
    prompt: PromptSession[str] = PromptSession(history=InMemoryHistory(), completer=completer)
    while True:
        try:
            yield prompt.prompt(PROMPT)
        except EOFError:
            return
        except KeyboardInterrupt:
            continue  # the line is given up, the run is not


class Session:
    """The commands over one run, and how they are answered."""

    def __init__(self, stepper: Stepper, format_: str, colour: ColourChoice) -> None:
        self.stepper = stepper
        self.format = format_
        self.colour: ColourChoice = colour
        self.style = styler(colour)
        self.ended = False

    @property
    def simulation(self) -> Simulation:
        """The run as it is now; `back` puts an earlier one in its place."""
        return self.stepper.simulation

    def words(self) -> list[str]:
        """What can be completed: commands, triggers, and where the run is held."""
        if not self.stepper.started:
            return list(COMMANDS)
        report = self.simulation.run.report()
        triggers = [each["trigger"] for each in report["waiting"] if "trigger" in each]
        return [*COMMANDS, *dict.fromkeys(triggers), *(each["path"] for each in report["holds"])]

    def run(self, lines: Iterator[str]) -> None:
        """Answer commands until they end."""
        if self.format == "text":
            write_result(f"{self.simulation.prepared.workflow.name}, at the start; `help` lists the commands\n")
        for line in lines:
            text = line.strip()
            if text and not text.startswith("#"):
                self.command(text)
            sys.stdout.flush()
            if self.ended:
                return

    def command(self, text: str) -> None:
        """Answer one command; a bad one is answered with what is wrong."""
        from analyzer.language.suggest import hint
        from sim_runtime.driver.circles import LimitReached
        from sim_runtime.samples import NoSample
        from sim_runtime.stepping import CannotDo
        from sim_runtime.world.connectors import CannotAnswer

        verb, _, rest = text.partition(" ")
        act = self.verbs().get(verb)
        try:
            if act is None:
                advice = hint(verb, COMMANDS) or " `help` lists the commands."
                raise click.UsageError(f"there is no command `{verb[:40]}`.{advice}")
            if rest.strip() and not COMMANDS[verb][0]:
                raise click.UsageError(f"`{verb}` takes nothing after it.")
            act(rest.strip())
        except click.UsageError as error:
            self.answer(verb, error=error.format_message())
        except (CannotDo, CannotAnswer, LimitReached, NoSample) as error:
            self.answer(verb, error=f"{error}.")

    def verbs(self) -> dict[str, Callable[[str], None]]:
        """What each command does with the text behind it."""
        stepper = self.stepper
        return {
            "next": lambda _rest: self.moved("next", stepper.next()),
            "into": lambda _rest: self.moved("into", stepper.into()),
            "out": lambda _rest: self.moved("out", stepper.out()),
            "continue": lambda _rest: self.moved("continue", stepper.finish()),
            "back": self.back,
            "crash": self.crash,
            "resume": self.resume,
            "advance": lambda rest: self.moved("advance", stepper.advance(_duration(rest, "advance"))),
            "deliver": self.deliver,
            "decide": self.decide,
            "cancel": lambda rest: self.replied("cancel", *stepper.cancel(rest or None)),
            "state": self.state,
            "history": self.history,
            "effects": self.effects,
            "help": self.help,
            "quit": self.quit,
        }

    # Commands.

    def back(self, rest: str) -> None:
        count = self.stepper.back(_count(rest, "back", 1))
        where = f"back at record {count}" if count else "back at the start"
        self.answer("back", text=f"{where}; {DOWN}" if self.stepper.down else where)

    def crash(self, _rest: str) -> None:
        self.stepper.crash()
        self.answer("crash", text=DOWN)

    def resume(self, rest: str) -> None:
        self.stepper.resume(_duration(rest, "resume") if rest else 0)
        self.answer("resume", text="the executor is back; it has its state from the history")

    def deliver(self, rest: str) -> None:
        trigger, _, rest = rest.partition(" ")
        delivery, rest = leading_flag(rest, "--id")
        if not trigger or "." not in trigger:
            raise click.UsageError("write `deliver connector.trigger PAYLOAD`.")
        payload = yaml_value(rest, "the payload") if rest else {}
        self.replied("deliver", *self.stepper.deliver(trigger, payload, delivery))

    def decide(self, rest: str) -> None:
        path, _, rest = rest.partition(" ")
        actor, rest = leading_flag(rest, "--actor")
        path = "" if path in ('""', "''") else path
        if not rest:
            raise click.UsageError('write `decide PATH DECISION`; the path of the root scope is `""`.')
        self.replied("decide", *self.stepper.decide(_decision(path, actor or "operator", rest)))

    def state(self, _rest: str) -> None:
        from workfile_cli.run import summary

        recorded = self.stepper.recorded()
        if recorded.run.state.root is None:
            self.answer("state", text=DOWN if self.stepper.down else "nothing has happened yet", state=None)
            return
        report = recorded.report
        bindings = json.dumps(report["bindings"], ensure_ascii=False)
        text = summary(report, self.colour) + self.style(f"  bindings  {bindings}", "plain")
        if self.stepper.down:
            text = self.style(f"{DOWN}; this is what is recorded", "plain") + "\n" + text
        self.answer("state", text=text, raw=True, state=report)

    def history(self, rest: str) -> None:
        from sim_runtime.history.encoding import record_json

        count = _count(rest, "history", 10)
        shown = [record_json(record) for record in self.simulation.run.durable[-count:]]
        lines = [
            f"{each['seq']:>5}  {each['at']}  {each['kind']:<24}  {each['path'] or 'run'}"
            f"{'' if not each.get('boundary') else '  |'}"
            for each in shown
        ]
        text = "\n".join(self.style(line, "plain") for line in lines)
        nothing = DOWN if self.stepper.down else "nothing is written yet"
        self.answer("history", text=text or nothing, raw=True, records=shown)

    def effects(self, _rest: str) -> None:
        from dataclasses import asdict

        effects = self.simulation.run.world.effects()
        lines = [f"{each.action} at `{each.path}`: {each.count}, called {each.invocations}" for each in effects]
        text = "\n".join(self.style(line, "plain") for line in lines)
        listed = [asdict(each) for each in effects]
        self.answer("effects", text=text or "nothing was called yet", raw=True, effects=listed)

    def help(self, _rest: str) -> None:
        lines = [f"{f'{verb} {after}'.strip():<34} {what}" for verb, (after, what) in COMMANDS.items()]
        self.answer("help", text="\n".join(lines), raw=True)

    def quit(self, _rest: str) -> None:
        self.ended = True

    # Answers.

    def moved(self, verb: str, records: list[Record]) -> None:
        """The records that a command wrote, as a timeline, and where the run is."""
        from sim_runtime.history.encoding import record_json
        from sim_runtime.timeline import render, timeline

        run = self.simulation.run
        lines = render(timeline(records, run.start_us), self.style)
        text = lines + self.style(self.where(), "plain") if lines else self.where()
        self.answer(verb, text=text, raw=True, records=[record_json(record) for record in records])

    def replied(self, verb: str, accepted: bool, reason: str, records: list[Record]) -> None:
        if not accepted:
            self.answer(verb, error=f"refused: {_REFUSALS.get(reason, reason)}.")
        elif reason:
            self.answer(verb, text=reason)
        else:
            self.moved(verb, records)

    def where(self) -> str:
        """The status in one line, with what is waited for."""
        from sim_runtime.history.encoding import time_text

        run = self.simulation.run
        if not self.stepper.started:
            return "nothing was written"
        report = run.report()
        waits = dict.fromkeys(f"`{each['path']}`" for each in report["waiting"] if each["kind"] != "decision")
        holds = [f"`{each['path']}` ({each['reason']})" for each in report["holds"]]
        status = "about to go on" if run.status in ("suspended", "held") and run.peek() else run.status
        words = f"{status} at {time_text(run.clock)}"
        until = self.simulation.until_us
        if until is not None and not run.over and run.now >= until:
            words += ", which is the end of the simulation (`until`)"
        if holds:
            words += f", held at {', '.join(holds)}"
        return words + (f", waits at {', '.join(waits)}" if waits else "")

    def answer(self, verb: str, *, text: str = "", error: str = "", raw: bool = False, **more: Any) -> None:
        """Write the answer to a command."""
        if self.format == "json":
            run = self.stepper.recorded().run
            answer = {"command": verb, "error": error or None, "status": run.status, "records_total": len(run.records)}
            write_result(json.dumps({**answer, **more}, ensure_ascii=False) + "\n")
        elif error:
            write_result(self.style(error, "bad") + "\n")
        elif text:
            write_result((text if raw else self.style(text, "plain")) + "\n")


def _duration(text: str, verb: str) -> int:
    from analyzer.language.durations import explain_duration_error, parse_duration

    us = parse_duration(text)
    if us is None:
        raise click.UsageError(f"`{verb}`: {explain_duration_error(text)}")
    return us


def _count(text: str, verb: str, default: int) -> int:
    if not text:
        return default
    if text.isascii() and text.isdigit() and int(text[:9]) > 0 and len(text) < 10:
        return int(text)
    raise click.UsageError(f"`{verb}` takes a count of at least 1, not `{text[:40]}`.")


def _decision(path: str, actor: str, text: str) -> Decision:
    """A decision as a scenario writes it, or as `succeed VALUE`, `fail {code: …}`."""
    from sim_runtime.world.reading import read_decision

    verb, _, rest = text.partition(" ")
    source = f"{{{verb}: {rest.strip() or 'null'}}}" if verb in ("succeed", "fail") else text
    decision = read_decision(source, path, actor)
    if isinstance(decision, str):
        raise click.UsageError(decision)
    return decision
