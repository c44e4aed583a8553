// Talks to the router: reads its key, and registers at its relay socket. Both are at the page's own address.

import { Problem, encrypt, sign } from "./signer.js"

const kind = 30062
const patience = 20_000

/** The router's key and capabilities: `/notification-relay.json`. */
export async function information() {
  let answer
  try {
    answer = await fetch("../notification-relay.json", { cache: "no-store" })
  } catch {
    throw new Problem("problemRouter")
  }
  if (answer.status === 404) throw new Problem("problemNotReady")
  if (!answer.ok) throw new Problem("problemRouter")
  return answer.json()
}

/** The operator's settings for this page. */
export async function settings() {
  try {
    return await (await fetch("settings.json")).json()
  } catch {
    throw new Problem("problemRouter")
  }
}

/** Registers `wishes` for `device`, or removes the registration if there are none. Returns the event's time, which
    the next one must exceed. */
export async function register(router, person, device, wishes, after = 0) {
  const event = {
    kind,
    pubkey: person,
    created_at: Math.max(Math.floor(Date.now() / 1000), after + 1),
    tags: [["d", `${router.pubkey}:${device}`], ["protocol_version", "1"]],
    content: wishes ? await encrypt(router.pubkey, JSON.stringify(wishes)) : "",
  }
  const signed = await sign(event)
  await publish(signed)
  return event.created_at
}

/** Sends an event over the socket and waits for the router's OK message. */
function publish(event) {
  const url = new URL("..", location.href)
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:"
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url.href)
    const end = result => {
      clearTimeout(timer)
      socket.close()
      if (result instanceof Problem) reject(result)
      else resolve()
    }
    const timer = setTimeout(() => end(new Problem("problemRouter")), patience)
    socket.onopen = () => socket.send(JSON.stringify(["EVENT", event]))
    socket.onerror = () => end(new Problem("problemRouter"))
    socket.onclose = () => end(new Problem("problemRouter"))
    socket.onmessage = ({ data }) => {
      let message
      try {
        message = JSON.parse(data)
      } catch {
        return
      }
      // The router's AUTH message needs no response.
      if (!Array.isArray(message) || message[0] !== "OK" || message[1] !== event.id) return
      end(message[2] === true ? null : refusal(String(message[3] ?? "")))
    }
  })
}

/** The text for a refusal: translated for NIP-01's prefixes, else the router's text. */
function refusal(reason) {
  if (/session|invit/.test(reason)) return new Problem("refusedSession")
  const prefixes = { blocked: "refusedBlocked", "rate-limited": "refusedRate", error: "refusedError", restricted: "refusedSession" }
  return new Problem(prefixes[reason.split(":")[0]] ?? "refused", { reason })
}
