import assert from "node:assert/strict";
import { test } from "node:test";

import { END, at, clockOf, events, live, recorded, settle } from "./recording.mjs";

test("a clock is applied with its events, and not with events that do not follow", async () => {
  const { player, socket, sockets } = await live(500);
  const frame = (first, last, clock) => ({ k: "d", ev: events.slice(first - 1, last), sent_ms: Date.now(), clock });
  socket.say(frame(501, 510, { ...clockOf(510, "play", 0.5), at_us: at(510) + 100 }));
  player.tick();
  assert.deepEqual([player.seq, player.mode, player.rate], [510, "play", 0.5]);
  assert.equal(player.at_us, at(510) + 100);
  socket.say(frame(520, 530, clockOf(530, "pause")));
  assert.equal(sockets.length, 2);
  assert.equal(player.mode, "play");
});

test("the number of watching pages is known if the server sends it", async () => {
  const { player, socket } = await live(500);
  assert.equal(player.watchers, 1);
  socket.say({ k: "watchers", count: 41 });
  assert.equal(player.watchers, 41);
});

test("a player closes its connection and resumes it later", async () => {
  const { player, socket, sockets } = await live(500);
  player.rest();
  socket.deltas(501, 520);
  player.tick();
  assert.equal(player.seq, 500);
  player.resume();
  sockets[1].open();
  assert.equal(sockets[1].sent[0].have, 500);
  sockets[1].deltas(501, 520);
  player.tick();
  assert.equal(player.seq, 520);
  player.resume();
  assert.equal(sockets.length, 2, "there is a connection");
});

test("a player that only watches sends no request to the lab, and does not pause its time", async () => {
  const { player, socket } = await live(500, { isReadOnly: true });
  socket.say(clockOf(500, "play"));
  player.seekSeq(300);
  await settle();
  await assert.rejects(player.exercise("hint", {}), (refusal) => refusal.code === "read_only");
  player.goLive();
  await assert.rejects(player.do("broker kill 1"), (refusal) => refusal.code === "read_only");
  assert.deepEqual(socket.sent.filter(({ k }) => k !== "hello" && k !== "ack"), []);
  assert.equal(player.may("act"), false);
});

test("an instant between two events is shown with the state after the first", async () => {
  const { player } = await recorded();
  const seq = events.findIndex(([, when], i) => i > 600 && i + 1 < END && events[i + 1][1] > when + 10) + 1;
  player.seekSeq(seq, at(seq) + 5);
  await settle();
  assert.deepEqual([player.seq, player.at_us], [seq, at(seq) + 5]);
  player.seekSeq(seq, at(seq) + 1e9);
  await settle();
  assert.deepEqual([player.seq, player.at_us], [seq, at(seq + 1)]);
});
