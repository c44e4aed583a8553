// The Connections screen: listeners, relays and plugin processes.

import { ask } from "./api.js"
import { element } from "./dom.js"

const listenersCard = ({ listeners }, { say, state, number, table, card }) =>
  card("listeners", table("listeners", [
    ["listener", listener => say(`listener_${listener.listener}`) || listener.listener],
    ["state", listener => state(listener.is_open ? "good" : "quiet", say(listener.is_open ? "open" : "closed"))],
    ["listen", listener => [listener.listen, listener.url].filter(Boolean).map(text => element("code", { className: "whole block", textContent: text }))],
    ["connections", listener => (listener.connections === undefined ? null : number(listener.connections))],
    ["events", listener => (listener.events === undefined ? null : number(listener.events))],
    ["refusals", listener => {
      const all = Object.entries(listener.refused).filter(([, count]) => count > 0)
      return all.length ? element("ul", { className: "plain" }, all.map(([limit, count]) => element("li", { textContent: `${say(`limit_${limit}`) || limit}: ${number(count)}` }))) : say("none")
    }],
  ], listeners.filter(listener => listener.is_open)))

const tones = { connected: "good", connecting: "open", waiting: "bad", idle: "quiet" }

const relayNotes = (relay, { say, router, quote, code, when }) =>
  element("ul", { className: "plain" },
    relay.misbehaves.length ? element("li", {}, say("misbehaves"), " ", relay.misbehaves.map(word => router.word("violation", word)).join(", ")) : null,
    relay.last_failure ? element("li", {}, say("lastFailure"), " ", router.word("failure", relay.last_failure)) : null,
    relay.next_try ? element("li", {}, say("nextTry"), " ", when(relay.next_try)) : null,
    relay.last_messages.map(words => element("li", {}, when(words.at), " ", code(words.command), " ", quote(words.text))))

/** `change` blocks and unblocks a relay; null if the session may only read. */
const relaysCard = ({ relays, blocked }, parts, change) => {
  const { say, quote, state, number, when, table, card, notice, button } = parts
  const block = url => button("blockRelay", () => change("block", url, "blockRelaySure"), { className: "danger", "aria-label": say("blockRelayOf", { url }) })
  const unblock = url => button("unblockRelay", () => change("unblock", url), { "aria-label": say("unblockRelayOf", { url }) })
  return card("relaysHeading",
    relays.length === 0 ? (blocked.length ? null : notice("warn", say("noRelays")))
      : table("relaysHeading", [
          ["relay", relay => element("span", { className: "whole", textContent: relay.url })],
          ["state", relay => [state(tones[relay.state] ?? "quiet", say(`relay_${relay.state}`) || relay.state), relay.misbehaves.length || relay.last_failure || relay.next_try || relay.last_messages.length ? relayNotes(relay, parts) : null]],
          ["whose", relay => say(relay.whose === "operator" ? "ofOperator" : "ofUsers")],
          ["keys", relay => number(relay.keys)],
          ["events", relay => number(relay.events)],
          ["refusals", relay => number(relay.refusals)],
          ["readUpTo", relay => (relay.read_up_to ? when(relay.read_up_to) : say("notYet"))],
          // Only the configuration changes the operator's own relays.
          ...(change && relays.some(({ whose }) => whose === "users") ? [["action", relay => (relay.whose === "users" ? block(relay.url) : null)]] : []),
        ], relays),
    blocked.length ? [element("h3", { textContent: say("blockedRelays", { n: blocked.length }) }),
      table("blockedHeading", [
        ["relay", rule => element("span", { className: "whole", textContent: rule.subject })],
        ["ends", rule => (rule.until ? when(rule.until) : say("forGood"))],
        ["why", rule => (rule.reason ? quote(rule.reason) : null)],
        ["action", rule => (rule.source === "configuration" ? say("byConfiguration") : change ? unblock(rule.subject) : null)],
      ], blocked)] : null)
}

const pluginsCard = ({ processes, refused }, parts) => {
  const { say, quote, router, state, number, table, card, notice } = parts
  return card("plugins",
    refused.map(words => notice("bad", say("pluginRefused"), " ", quote(words))),
    processes.length === 0 ? notice("", say("noPlugins"))
      : table("plugins", [
          ["plugin", process => element("ul", { className: "plain" }, process.plugins.map(name => element("li", { className: "whole", textContent: name })))],
          ["state", process => state({ running: "good", restarting: "open" }[process.state] ?? "bad", say(`process_${process.state}`) || process.state)],
          ["crashes", process => [number(process.crashes), process.last_crash ? element("small", {}, quote(process.last_crash)) : null]],
          ["setAside", process => number(process.abandoned)],
          ["confinement", process => (process.confinement ? process.confinement.split(", ").map(word => router.word("confinement", word)).join(", ") : say("notConfined"))],
        ], processes))
}

export function open(place, { parts, can }) {
  const { say, confirm, tell } = parts
  const change = async (verb, url, question) => {
    if (question && !(await confirm(say(question, { url }), "blockRelay", true))) return
    await ask(`relays/${verb}`, { method: "POST", query: { subject: url } })
    await Promise.all(cards.map(({ load }) => load()))
    tell(say(verb === "block" ? "relayBlocked" : "relayUnblocked", { url }))
  }
  const cards = [["listeners", listenersCard], ["relays", relaysCard], ["plugins", pluginsCard]].map(([path, draw]) => {
    const spot = element("div", {}, parts.notice("", say("loading")))
    const load = () => ask(path).then(
      answer => spot.replaceChildren(draw(answer, parts, can("operate") ? change : null)),
      error => spot.replaceChildren(parts.problem(error)))
    load()
    return { spot, load }
  })
  const refresh = parts.button("refresh", () => Promise.all(cards.map(({ load }) => load())))
  place.replaceChildren(parts.heading("listenersScreen", refresh), ...cards.map(({ spot }) => spot))
}
