import Nostr

/// Whoever makes use of what a ``RelayPool`` reads. Called on the relays' event loops; must not block.
package protocol RelayPoolDelegate: Sendable {
    /// Takes events, each the bytes of one JSON object, unverified. Calls `completion` once, on any thread, with whether each was
    /// dealt with; what was not is read again. The pool reads no more of a relay while too much is outstanding.
    func received(
        _ events: [[UInt8]],
        from relay: RelayURL,
        _ reading: Reading,
        completion: @escaping @Sendable ([Bool]) -> Void
    )

    /// Everything that `relay` had stored for these keys was read and dealt with.
    func established(_ keys: [PublicKey], at relay: RelayURL)

    /// Everything that `relay` had for its established keys up to that moment, in seconds since 1970, was read and dealt with.
    func marked(_ relay: RelayURL, upTo moment: Int64)

    /// So often stored events of `relay` turned out to be out of reach: for each second of which it holds more than it
    /// gives out, and for each reading that was given up for its length.
    func couldNotRead(_ times: Int, at relay: RelayURL)
}
