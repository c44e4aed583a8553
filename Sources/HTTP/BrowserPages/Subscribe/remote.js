// A remote signer on a phone or a server (NIP-46): requests and responses are encrypted events (kind 24133) at a relay
// that it chose.

import { conversationKey, decrypt, encrypt } from "./nip44.js"
import { hex, publicKey, secretKey, sha256, sign } from "./secp256k1.js"

const kind = 24133
/** For registrations, and for API requests (NIP-98). */
const permissions = "sign_event:30062,sign_event:27235,nip44_encrypt"

/** Parses a `bunker://` URL; null for anything else. */
export function parse(text) {
  let url
  try {
    url = new URL(text.trim())
  } catch {
    return null
  }
  const signer = (url.host || url.pathname.replace(/^\/+/, "")).toLowerCase()
  // The page's policy allows no unencrypted connections.
  const relays = url.searchParams.getAll("relay").filter(relay => /^wss:\/\/[^/]/.test(relay))
  if (url.protocol !== "bunker:" || !/^[0-9a-f]{64}$/.test(signer) || relays.length === 0) return null
  return { signer, relays, invitation: url.searchParams.get("secret") ?? "" }
}

/** A session with a remote signer. `session` holds everything that a later visit needs. */
export class RemoteSigner {
  #session
  #conversation
  #sockets = []
  #waiting = new Map()
  /** Called with the https address at which the person must approve. */
  onApproval = () => {}

  /** Takes a stored session or the result of `parse`. */
  constructor({ signer, relays, secret = secretKey() }) {
    this.#session = { signer, relays, secret }
  }

  /** The state to store for the next visit. */
  get session() {
    return this.#session
  }

  /** Opens a new session. `invitation` is the URL's secret. */
  connect(invitation) {
    return this.#ask("connect", [this.#session.signer, invitation, permissions])
  }

  getPublicKey() {
    return this.#ask("get_public_key", [])
  }

  async signEvent({ kind, content, tags, created_at }) {
    return JSON.parse(await this.#ask("sign_event", [JSON.stringify({ kind, content, tags, created_at })]))
  }

  nip44 = { encrypt: (key, text) => this.#ask("nip44_encrypt", [key, text]) }

  close() {
    for (const socket of this.#sockets) socket.close()
    this.#sockets = []
    for (const { reject } of this.#waiting.values()) reject(new Error("closed"))
    this.#waiting.clear()
  }

  async #ask(method, params) {
    await this.#open()
    const id = hex(crypto.getRandomValues(new Uint8Array(16)))
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    const content = await encrypt(this.#conversation, JSON.stringify({ id, method, params }))
    const event = await this.#event(kind, [["p", this.#session.signer]], content)
    for (const socket of this.#sockets) socket.send(JSON.stringify(["EVENT", event]))
    return answer
  }

  async #event(kind, tags, content) {
    const pubkey = publicKey(this.#session.secret)
    const created_at = Math.floor(Date.now() / 1000)
    const digest = await sha256(new TextEncoder().encode(JSON.stringify([0, pubkey, created_at, kind, tags, content])))
    return { id: hex(digest), pubkey, created_at, kind, tags, content, sig: await sign(this.#session.secret, digest) }
  }

  /** Connects to the relays; one that responds is enough. */
  async #open() {
    this.#sockets = this.#sockets.filter(socket => socket.readyState === WebSocket.OPEN)
    if (this.#sockets.length > 0) return
    this.#conversation ??= await conversationKey(this.#session.secret, this.#session.signer)
    await Promise.any(this.#session.relays.map(relay => this.#dial(relay)))
  }

  #dial(relay) {
    const filter = { kinds: [kind], "#p": [publicKey(this.#session.secret)], since: Math.floor(Date.now() / 1000) - 10 }
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(relay)
      const subscribe = () => socket.send(JSON.stringify(["REQ", "signer", filter]))
      socket.onopen = () => {
        subscribe()
        this.#sockets.push(socket)
        resolve()
      }
      socket.onerror = reject
      socket.onmessage = async ({ data }) => {
        const message = JSON.parse(data)
        if (message[0] === "AUTH") {
          const proof = await this.#event(22242, [["relay", relay], ["challenge", String(message[1])]], "")
          socket.send(JSON.stringify(["AUTH", proof]))
          subscribe()
        }
        if (message[0] === "EVENT") await this.#receive(message[2])
      }
    })
  }

  async #receive(event) {
    if (event?.pubkey !== this.#session.signer || event.kind !== kind) return
    // Only the signer and this page can encrypt for this key, so no signature is checked.
    const { id, result, error } = JSON.parse(await decrypt(this.#conversation, event.content))
    const waiting = this.#waiting.get(id)
    if (!waiting) return
    if (result === "auth_url") return this.onApproval(error)
    this.#waiting.delete(id)
    if (error) waiting.reject(new Error("refused"))
    else waiting.resolve(result)
  }
}
