// The person's signer: a browser extension with `window.nostr` (NIP-07), which keeps the secret key.

/** A problem that has words of its own among the page's texts. */
export class Problem extends Error {
  constructor(key, values = {}) {
    super(key)
    this.key = key
    this.values = values
  }
}

/** How long a person may take for a question of the signer. */
const patience = 180_000

/** Whether a signer is there. Extensions announce themselves a moment after the page. */
export async function isPresent(tries = 20) {
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
    throw error instanceof Problem ? error : new Problem("problemSignerDeclined")
  } finally {
    clearTimeout(timer)
  }
}

/** The person's public key in hex. */
export async function publicKey() {
  if (!globalThis.nostr?.getPublicKey) throw new Problem("problemSigner")
  const key = await ask(() => globalThis.nostr.getPublicKey())
  if (typeof key !== "string" || !/^[0-9a-f]{64}$/.test(key)) throw new Problem("problemSignerDeclined")
  return key
}

/** `text` encrypted to `key` (NIP-44). */
export async function encrypt(key, text) {
  if (!globalThis.nostr?.nip44?.encrypt) throw new Problem("problemNIP44")
  return ask(() => globalThis.nostr.nip44.encrypt(key, text))
}

/** The signed event. Throws where the signer changed what it was asked to sign. */
export async function sign(event) {
  const signed = await ask(() => globalThis.nostr.signEvent(event))
  const isSame =
    signed?.kind === event.kind && signed.content === event.content && signed.pubkey === event.pubkey &&
    JSON.stringify(signed.tags) === JSON.stringify(event.tags) && signed.created_at === event.created_at &&
    typeof signed.id === "string" && typeof signed.sig === "string"
  if (!isSame) throw new Problem("problemSignature")
  return signed
}
