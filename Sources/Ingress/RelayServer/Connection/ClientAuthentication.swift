import Nostr

/// Who a client has proven to be on this connection (NIP-42).
struct ClientAuthentication {
    /// How far the proof's `created_at` may be from now, in seconds.
    private static let tolerance: Int64 = 600

    /// Each key widens every query; one client speaks for a handful of accounts.
    private static let keys = 32

    let challenge: String
    private let host: Substring
    private(set) var publicKeys: Set<PublicKey> = []

    init(url: String, challenge: String) {
        self.challenge = challenge
        self.host = Self.host(of: url)
    }

    /// Judges the event of an AUTH message and says OK or why not. `now` is in milliseconds since 1970.
    mutating func authenticate(_ event: Event, now: Int64) -> RelayMessage {
        if let mistake = mistake(in: event, now: now) {
            return .ok(event.id, isAccepted: false, message: MachineReadablePrefix.invalid.message(mistake))
        }
        guard publicKeys.count < Self.keys || publicKeys.contains(event.pubkey) else {
            let reason = "at most \(Self.keys) keys a connection"
            return .ok(event.id, isAccepted: false, message: MachineReadablePrefix.restricted.message(reason))
        }
        publicKeys.insert(event.pubkey)
        return .ok(event.id, isAccepted: true, message: "")
    }

    private func mistake(in event: Event, now: Int64) -> String? {
        guard event.kind == .clientAuthentication else { return "AUTH takes an event of kind 22242" }
        guard event.value(of: "challenge") == challenge else { return "the challenge tag must be this connection's" }
        // Proxies and ports make URLs differ, so that comparing hosts is what NIP-42 advises. Without a public URL of ours any goes.
        guard let relay = event.value(of: "relay"), host.isEmpty || Self.host(of: relay) == host else {
            return "the relay tag must be this relay's URL"
        }
        guard abs(event.createdAt - now / 1000) <= Self.tolerance else {
            return "created_at must be within ten minutes of now"
        }
        guard (try? event.verify()) != nil else { return "the id or the signature is wrong" }
        return nil
    }

    /// The host of a URL in lower case, without scheme, port and path.
    private static func host(of url: String) -> Substring {
        let rest = url.lowercased().split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if authority.hasPrefix("[") { return authority.prefix { $0 != "]" } }
        return authority.prefix { $0 != ":" }
    }
}
