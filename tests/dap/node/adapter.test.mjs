// The debug adapter under a client that is not ours: `node --test`, run by tests/dap/test_node.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { DebugClient } from "@vscode/debugadapter-testsupport";

const { PYTHON, ADAPTER, EXAMPLES } = process.env;
const program = join(EXAMPLES, "order.workfile.yaml");
const scenario = join(EXAMPLES, "scenarios", "order-retry-after-decline.scenario.yaml");
const line = (text) => readFileSync(program, "utf8").split("\n").findIndex((each) => each.includes(text)) + 1;

let client;

beforeEach(async () => {
  client = new DebugClient(PYTHON, ADAPTER, "workfile");
  client.defaultTimeout = 30_000;
  await client.start();
});

afterEach(() => client.stop());

test("an unknown request is an error", async () => {
  await client.initializeRequest();
  await assert.rejects(client.send("illegalRequest"), /There is no request/);
});

test("it stops on entry", async () => {
  await Promise.all([
    client.configurationSequence(),
    client.launch({ program, scenario, stopOnEntry: true }),
    client.assertStoppedLocation("entry", { path: program, line: line("- fulfil:") }),
  ]);
});

test("it hits a breakpoint, and one that was moved", async () => {
  await client.hitBreakpoint({ program, scenario }, { path: program, line: line("- charge:") });
});

test("a breakpoint inside a step stands on the step", async () => {
  const at = { path: program, line: line("- charge:") };
  await client.hitBreakpoint({ program, scenario }, { path: program, line: at.line + 1 }, at, at);
});

test("it runs to the end", async () => {
  await Promise.all([client.configurationSequence(), client.launch({ program, scenario }), client.waitForEvent("terminated")]);
});

test("the output says how it ended", async () => {
  await Promise.all([
    client.configurationSequence(),
    client.launch({ program, scenario }),
    client.assertOutput("console", "the run succeeded"),
  ]);
});

test("a Workfile that is not there is refused", async () => {
  await assert.rejects(
    Promise.all([client.configurationSequence(), client.launch({ program: join(EXAMPLES, "gone.workfile.yaml") })]),
    /Cannot read/,
  );
});

test("steps, scopes, evaluation, step back, crash and resume", async () => {
  await client.hitBreakpoint({ program, scenario }, { path: program, line: line("- ship:") });
  const frames = (await client.stackTraceRequest({ threadId: 1 })).body.stackFrames;
  const scopes = (await client.scopesRequest({ frameId: frames[0].id })).body.scopes;
  const bindings = await client.variablesRequest({ variablesReference: scopes[0].variablesReference });
  assert.deepEqual(bindings.body.variables.map((each) => each.name), ["reserve", "charge"]);
  const evaluated = await client.evaluateRequest({ expression: "charge.charge_id", frameId: frames[0].id, context: "hover" });
  assert.equal(evaluated.body.result, '"ch_1"');
  const stepped = client.waitForEvent("stopped");
  await client.nextRequest({ threadId: 1 });
  assert.equal((await stepped).body.reason, "step"); // it fails; all is undone and begins again
  const back = client.assertStoppedLocation("step", { path: program, line: line("- ship:") });
  await client.stepBackRequest({ threadId: 1 });
  await back;
  for (const command of ["crash", "resume"]) {
    const stopped = client.waitForEvent("stopped");
    await client.customRequest(`workfile/${command}`);
    assert.equal((await stopped).body.reason, command);
  }
  const ended = client.waitForEvent("terminated");
  await client.setBreakpointsRequest({ source: { path: program }, breakpoints: [] });
  await client.continueRequest({ threadId: 1 });
  await ended;
});
