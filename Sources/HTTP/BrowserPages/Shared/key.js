// The card "Your key" of every page that needs signatures: connects a local or remote signer and shows its key.

import { find, show } from "./dom.js"
import * as notes from "./notes.js"
import { connectRemotely, disconnect, isPresent, publicKey, resume } from "./signer.js"

/** Shows an address in a link if it is one that may be opened. */
const showApproval = address => {
  const link = notes.address(address)
  show("approval", Boolean(link))
  Object.assign(find("approval-link"), { href: link ?? "#", textContent: link ?? "" })
}

export class KeyCard {
  /** The signing key, once the signer reported it. */
  person = null
  #hasSigner = null
  #page

  /** `page` has `say(key)`, `report(progress)`, `attempt(action)`, `state` (stored in this browser), `keep(members)`,
   * `admit(key)`, which throws if the page does not accept that key, and `connected()`. */
  constructor(page) {
    this.#page = page
    find("connect").addEventListener("click", () => page.attempt(() => this.connect()))
    find("remote-form").addEventListener("submit", event => {
      event.preventDefault()
      page.attempt(() => this.#connectElsewhere())
    })
    find("disconnect").addEventListener("click", () => page.attempt(() => this.#disconnect()))
  }

  /** Resumes the remote signer of an earlier visit, and looks for a signer in this browser. */
  resume() {
    const { signer } = this.#page.state
    if (signer) resume(signer, showApproval)
  }

  async search() {
    this.#hasSigner = await isPresent()
    this.write()
  }

  write() {
    const { say, state } = this.#page
    const key = this.person ?? state.person
    find("key-words").textContent = say(
      key ? (state.signer ? "keyRemote" : "keyKnown")
        : this.#hasSigner === null ? "keySearching" : this.#hasSigner ? "keyFound" : "keyMissing"
    )
    find("key").textContent = key ? notes.npub(key) : ""
    show("key", Boolean(key))
    show("connect", !key && this.#hasSigner === true)
    show("remote", !state.signer && (!key || this.#hasSigner === false))
    show("disconnect", Boolean(state.signer))
  }

  async connect() {
    const page = this.#page
    page.report(page.say("connecting"))
    const key = await publicKey()
    page.admit(key)
    this.person = key
    page.report(null)
    this.write()
    await page.connected()
  }

  async #connectElsewhere() {
    const page = this.#page
    page.report(page.say("connecting"))
    const session = await connectRemotely(find("bunker").value, showApproval)
    // The address holds a secret that works for one connection.
    find("bunker").value = ""
    await page.keep({ signer: session })
    this.#hasSigner = true
    try {
      await this.connect()
    } catch (error) {
      if (!this.person) {
        disconnect()
        await page.keep({ signer: null })
      }
      throw error
    } finally {
      showApproval(null)
      this.write()
    }
  }

  async #disconnect() {
    const page = this.#page
    disconnect()
    this.person = null
    await page.keep({ signer: null, ...(Object.keys(page.state.ways ?? {}).length ? {} : { person: null }) })
    this.#hasSigner = await isPresent(1)
    page.report(null)
    this.write()
    await page.connected()
  }
}
