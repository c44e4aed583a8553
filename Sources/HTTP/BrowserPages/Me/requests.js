// Asks the router's API about the person, with requests that their signer signs (NIP-98).

import { Problem, sign } from "./signer.js"

const kind = 27235
const root = new URL("../v1/me", location.href).href

const base64 = text => btoa(String.fromCharCode(...new TextEncoder().encode(text)))

const sha256 = async text => {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))
  return [...new Uint8Array(digest)].map(byte => byte.toString(16).padStart(2, "0")).join("")
}

/**
 * The response to a request below `/v1/me`; null if the item does not exist. Throws a ``Problem`` with the router's message
 * if the router refuses.
 */
async function ask(person, method, path = "", content) {
  const url = root + path
  const body = content === undefined ? undefined : JSON.stringify(content)
  // The router accepts each proof once, so two proofs of the same second must differ.
  const tags = [["u", url], ["method", method], ["random", crypto.randomUUID()]]
  if (body) tags.push(["payload", await sha256(body)])
  const proof = await sign({ kind, pubkey: person, created_at: Math.floor(Date.now() / 1000), tags, content: "" })
  const headers = { authorization: `Nostr ${base64(JSON.stringify(proof))}` }
  if (body) headers["content-type"] = "application/json"
  let answer
  try {
    answer = await fetch(url, { method, headers, body, cache: "no-store", credentials: "omit" })
  } catch {
    throw new Problem("problemRouter")
  }
  if (answer.status === 404) return null
  const object = await answer.json().catch(() => null)
  if (answer.ok && object) return object
  const refusal = { status: answer.status, words: object?.detail ?? `HTTP ${answer.status}`, says: object?.says }
  const values = { seconds: answer.headers.get("retry-after") ?? "60", refusal }
  throw new Problem({ 401: "problemProof", 429: "problemOften" }[answer.status] ?? "problemRefused", values)
}

const device = id => `/devices/${encodeURIComponent(id)}`

/** The data that the router stores about the person. */
export const report = person => ask(person, "GET")

/** The result for one of the person's events; null if the router decided nothing about it. */
export const event = (person, id) => ask(person, "GET", `/events/${encodeURIComponent(id)}`)

/** Leaves a group of an app; senders cannot add the person again. */
export const leave = (person, { app, group }) => ask(person, "DELETE", `/groups/${encodeURIComponent(app)}/${encodeURIComponent(group)}`)

export const test = (person, id) => ask(person, "POST", `${device(id)}/test`)
export const change = (person, id, wishes) => ask(person, "PATCH", device(id), wishes)
export const remove = (person, id) => ask(person, "DELETE", device(id))
