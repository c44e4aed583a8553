import Glibc
import Listening
import Nostr
import Units

/// The keys that a client has proven to have on this connection (NIP-42).
struct ClientAuthentication {
    /// How far the proof's `created_at` may be from now, in seconds.
    private static let tolerance: Int64 = 600

    /// Each key widens every query; one client speaks for a handful of accounts.
    private static let keys = 32

    let challenge: String
    /// Hosts that a proof may name, in one spelling each.
    private let hosts: Set<String>
    private let expected: String
    private(set) var publicKeys: Set<PublicKey> = []

    /// `url` is how clients reach us. If it is empty, a proof must name one of `addresses`, at which we listen: a proof
    /// that names another relay may have been made for that one, which passes it on.
    init(url: String, addresses: [String] = [], challenge: String) {
        self.challenge = challenge
        if url.isEmpty {
            let hosts = addresses.map(Self.plain)
            self.hosts = Set(hosts + (hosts.contains(where: LoopbackAddress.contains) ? ["localhost"] : []))
            expected =
                "the relay tag must name the address of this relay's socket, as its operator has set no relay.url"
        } else {
            hosts = [Self.host(of: url)]
            expected = "the relay tag must be this relay's URL"
        }
    }

    /// Checks the event of an AUTH message and answers with OK or a reason.
    mutating func authenticate(_ event: Event, now: Timestamp) -> RelayMessage {
        if let reason = rejectionReason(for: event, now: now) {
            return .ok(event.id, isAccepted: false, message: MachineReadablePrefix.invalid.message(reason))
        }
        guard publicKeys.count < Self.keys || publicKeys.contains(event.pubkey) else {
            let reason = "at most \(Self.keys) keys a connection"
            return .ok(event.id, isAccepted: false, message: MachineReadablePrefix.restricted.message(reason))
        }
        publicKeys.insert(event.pubkey)
        return .ok(event.id, isAccepted: true, message: "")
    }

    private func rejectionReason(for event: Event, now: Timestamp) -> String? {
        guard event.kind == .clientAuthentication else { return "AUTH takes an event of kind 22242" }
        guard event.value(of: "challenge") == challenge else { return "the challenge tag must be this connection's" }
        // Proxies and ports make URLs differ, so that comparing hosts is what NIP-42 advises.
        guard let relay = event.value(of: "relay"), hosts.contains(Self.host(of: relay)) else { return expected }
        let second = now.seconds
        guard (second - Self.tolerance...second + Self.tolerance).contains(event.createdAt) else {
            return "created_at must be within ten minutes of now"
        }
        guard (try? event.verify()) != nil else { return "the id or the signature is wrong" }
        return nil
    }

    /// The host of a URL in lower case, without scheme, port and path.
    private static func host(of url: String) -> String {
        let rest = url.lowercased().split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if authority.hasPrefix("[") { return plain(String(authority.dropFirst().prefix { $0 != "]" })) }
        return plain(String(authority.prefix { $0 != ":" }))
    }

    /// An address in the spelling of the system, which has several for IPv6; a name as it is.
    private static func plain(_ host: String) -> String {
        var bytes = in6_addr()
        guard inet_pton(AF_INET6, host, &bytes) == 1 else { return host.lowercased() }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, &bytes, &text, socklen_t(INET6_ADDRSTRLEN)) != nil else { return host }
        return ClientAddress.plain(
            String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        )
    }
}
