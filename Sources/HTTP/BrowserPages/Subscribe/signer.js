// The person's signer, which keeps the secret key: a browser extension with `window.nostr` (NIP-07) or a remote signer
// (NIP-46).

import { RemoteSigner, parse } from "./remote.js"

/** A problem with its own text on the page. */
export class Problem extends Error {
  constructor(key, values = {}) {
    super(key)
    this.key = key
    this.values = values
  }
}

/** How long a person may take to answer the signer, in ms. */
const patience = 180_000

let remote = null

const signer = () => remote ?? globalThis.nostr

/** Opens a session with the remote signer of a `bunker://` URL. Returns the state that `resume` needs at the next
    visit. */
export async function connectRemotely(text, onApproval) {
  const invitation = parse(text)
  if (!invitation) throw new Problem("problemBunker")
  const session = new RemoteSigner(invitation)
  session.onApproval = onApproval
  remote = session
  try {
    await ask(() => session.connect(invitation.invitation))
  } catch (error) {
    disconnect()
    throw error
  }
  return session.session
}

/** Resumes a session of an earlier visit. */
export function resume(session, onApproval) {
  remote = new RemoteSigner(session)
  remote.onApproval = onApproval
}

/** Ends the session here; the signer keeps the app in its list until the person removes it there. */
export function disconnect() {
  remote?.close()
  remote = null
}

/** Whether a signer is present. Extensions announce themselves shortly after the page loads. */
export async function isPresent(tries = 20) {
  if (remote) return true
  for (let left = tries; left > 0; left -= 1) {
    if (globalThis.nostr?.getPublicKey) return true
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  return false
}

const ask = async question => {
  let timer
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Problem("problemSignerSilent")), patience)
  })
  try {
    return await Promise.race([question(), silence])
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem(error instanceof AggregateError ? "problemSignerRelay" : "problemSignerDeclined")
  } finally {
    clearTimeout(timer)
  }
}

/** The person's public key in hex. */
export async function publicKey() {
  if (!signer()?.getPublicKey) throw new Problem("problemSigner")
  const key = await ask(() => signer().getPublicKey())
  if (typeof key !== "string" || !/^[0-9a-f]{64}$/.test(key)) throw new Problem("problemSignerDeclined")
  return key
}

/** `text` encrypted to `key` (NIP-44). */
export async function encrypt(key, text) {
  if (!signer()?.nip44?.encrypt) throw new Problem("problemNIP44")
  return ask(() => signer().nip44.encrypt(key, text))
}

/** The signed event. Throws if the signer changed it. */
export async function sign(event) {
  const signed = await ask(() => signer().signEvent(event))
  const isSame =
    signed?.kind === event.kind && signed.content === event.content && signed.pubkey === event.pubkey &&
    JSON.stringify(signed.tags) === JSON.stringify(event.tags) && signed.created_at === event.created_at &&
    typeof signed.id === "string" && typeof signed.sig === "string"
  if (!isSame) throw new Problem("problemSignature")
  return signed
}
