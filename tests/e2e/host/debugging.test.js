"use strict";

const assert = require("node:assert/strict");
const vscode = require("vscode");
const { api, file, folder, open, positionOf, until } = require("./helpers");

/** Sees the events of every session, as any client of the editor could. */
class Watch {
  constructor() {
    this.stops = [];
    this.ended = 0;
    this.registration = vscode.debug.registerDebugAdapterTrackerFactory("workfile", {
      createDebugAdapterTracker: () => ({
        onDidSendMessage: (message) => {
          if (message.type === "event" && message.event === "stopped") {
            this.stops.push(message.body.reason);
          } else if (message.type === "event" && message.event === "terminated") {
            this.ended += 1;
          }
        },
      }),
    });
  }

  /** Does something, and waits for the stop that comes of it and for what the panel knows then; its reason. */
  async stop(feed, act) {
    const before = this.stops.length;
    const fresh = new Promise((resolve) => {
      const listening = feed.onDidChange(() => {
        if (this.stops.length > before) {
          listening.dispose();
          resolve();
        }
      });
    });
    await act();
    await until("a stop", () => this.stops.length > before);
    await fresh;
    return this.stops.at(-1);
  }
}

describe("debugging", () => {
  let feed;
  let watch;
  const command = (name) => () => vscode.commands.executeCommand(`workbench.action.debug.${name}`);
  const own = (name, args = {}) => () => vscode.debug.activeDebugSession.customRequest(`workfile/${name}`, args);
  const start = (configuration) => () => vscode.debug.startDebugging(vscode.workspace.workspaceFolders[0], { type: "workfile", request: "launch", name: "test", ...configuration });
  const path = () => feed.state.run.position.path;

  before(async () => {
    feed = (await api()).feed;
    watch = new Watch();
  });

  afterEach(async () => {
    await vscode.debug.stopDebugging();
    await until("the end of the session", () => vscode.debug.activeDebugSession === undefined);
    vscode.debug.removeBreakpoints(vscode.debug.breakpoints);
  });

  after(() => watch.registration.dispose());

  it("needs no launch configuration", async () => {
    await open("order.workfile.yaml");
    assert.equal(await watch.stop(feed, command("start")), "entry");
    assert.equal(feed.state.run.workflow, "order-fulfilment");
    assert.ok(feed.isAbout(file("order.workfile.yaml")));
    assert.match(vscode.debug.activeDebugSession.configuration.scenario, /order-retry-after-decline/);
  });

  it("stops at breakpoints, steps, steps back, crashes and resumes", async () => {
    const { document } = await open("order.workfile.yaml");
    const line = positionOf(document, "- charge:").line;
    vscode.debug.addBreakpoints([new vscode.SourceBreakpoint(new vscode.Location(document.uri, new vscode.Position(line, 0)))]);
    const scenario = file("scenarios", "order-retry-after-decline.scenario.yaml").fsPath;
    assert.equal(await watch.stop(feed, start({ program: document.uri.fsPath, scenario, stopOnEntry: true })), "entry");

    assert.equal(await watch.stop(feed, command("continue")), "breakpoint");
    assert.equal(path(), "fulfil.charge");
    const item = await until("the frame", () => vscode.debug.activeStackItem);
    assert.ok(item.session !== undefined);

    const before = feed.state.run.recordsTotal;
    await watch.stop(feed, command("stepOver"));
    assert.equal(path(), "fulfil.ship");
    assert.equal(feed.state.run.effects.find((each) => each.action === "payments.charge").count, 1);
    assert.ok(feed.state.finished.includes("fulfil.charge"));

    await watch.stop(feed, command("stepBack"));
    assert.equal(path(), "fulfil.charge");
    assert.equal(feed.state.run.recordsTotal, before);
    assert.equal(feed.state.run.effects.find((each) => each.action === "payments.charge"), undefined);

    assert.equal(await watch.stop(feed, own("crash")), "crash");
    assert.equal(feed.state.run.down, true);
    assert.equal(feed.state.run.can.resume, true);
    assert.equal(await watch.stop(feed, own("resume")), "resume");
    assert.equal(feed.state.run.down, false);
    assert.equal(feed.state.run.crashes.length, 1);
  });

  it("delivers an event, and finishes", async () => {
    const program = file("approval.workfile.yaml").fsPath;
    const inputs = { request_id: "r-1", approval_channel: "#x", amount: 5, customer: "c-1" };
    await watch.stop(feed, start({ program, inputs, stopOnEntry: true }));
    await until("a subscription", async () => {
      if (feed.state.run.subscriptions.length > 0) {
        return true;
      }
      await watch.stop(feed, command("stepInto"));
      return false;
    });
    const [wait] = feed.state.run.subscriptions;
    assert.deepEqual(wait.match, { request_id: "r-1" });
    const refused = own("deliver", { trigger: wait.trigger, payload: { request_id: "other" }, surplus: 1 });
    await assert.rejects(refused(), /surplus/);
    await watch.stop(feed, own("deliver", { trigger: wait.trigger, payload: { ...wait.example, approved: true } }));
    const ended = watch.ended;
    await until("the end", async () => {
      if (watch.ended > ended || feed.state.ended) {
        return true;
      }
      if (vscode.debug.activeDebugSession !== undefined) {
        await command("continue")();
      }
      return false;
    });
    assert.equal(feed.state.run.status, "succeeded");
  });

  it("says why a Workfile with errors does not run", async () => {
    const broken = vscode.Uri.joinPath(folder(), "broken.workfile.yaml");
    await vscode.workspace.fs.writeFile(broken, Buffer.from('workfile: "1.0"\nname: broken\nsteps:\n  - a: { no.such: {} }\n'));
    await vscode.window.showTextDocument(broken);
    // The workbench shows dialogs as errors while it is tested: what it would show is what is looked for.
    await assert.rejects(start({ program: broken.fsPath })(), /The connector `no` is not known/);
    await vscode.workspace.fs.delete(broken);
  });
});
