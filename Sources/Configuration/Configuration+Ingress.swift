import Core
import HTTPClient
import Push
import Relays
import Storage
import WebIngress

/// The ways on which events and registrations come in besides our own socket, and what they are looked up for.
extension Configuration {
    /// Other relays, to which we go out.
    package struct Relays: Sendable, Equatable {
        /// Connected all the time; everybody registered is watched there.
        package var always: [RelayURL] = []
        /// Whose word counts on the relays at which a user is watched besides.
        package var perUser = RelaySource.nip65
        /// Where NIP-46 sessions are held, besides our own socket. ``always`` where the file says nothing.
        package var nip46: [RelayURL] = []
        /// Where the advertisement (kind 10067) is published. ``always`` where the file says nothing.
        package var publish: [RelayURL] = []
        /// How far back a relay is read after an absence; from 1 to 720 hours.
        package var catchUp: Duration = .hours(48)
    }

    /// Wake-up hints of partners (kind 20062, contrib/docs/registration.md).
    package struct Hints: Sendable, Equatable {
        package var policy = HintPolicy.also
        /// How long after its last hint a partner counts as there; from 1 to 10,080 minutes.
        package var silentAfter: Duration = .minutes(60)
    }

    /// Who may register.
    package struct Registration: Sendable {
        /// Whether it takes a NIP-46 session.
        package var requireSession = false
        /// The file with the secrets that open a session, one a line; nil: it takes none.
        package var secretFile: String?
        /// Where the file is named; 0 where no file was read.
        package var secretFilePlace = (line: 0, column: 0)
    }

    /// What notifications speak of: names, and the notes that are answered.
    package struct Context: Sendable {
        /// Whether names and notes are looked for and kept at all.
        package var isOn = true
        /// How long a notification waits for what has to be fetched; from 0 to 10 seconds.
        package var wait: Duration = .milliseconds(1_500)
        /// The file that keeps what was fetched; nil: one beside the store.
        package var path: String?
        /// Where the file is named; 0 where no file was read.
        package var place = (line: 0, column: 0)
    }

    /// A stream of events as lines of JSON.
    package struct Feed: Sendable {
        /// A file or a FIFO, or `-` for standard input.
        package var path: String
        /// Whether to stop when it has ended and everything in it is dealt with.
        package var stopsAtEnd: Bool

        package init(path: String, stopsAtEnd: Bool = false) {
            self.path = path
            self.stopsAtEnd = stopsAtEnd
        }
    }

    /// The file with what notifications speak of, which may be lost at any time.
    package var contextPath: String { context.path ?? storePath + "-context" }

    /// The file with what became of events, which may be lost at any time.
    package var tracePath: String { storePath + "-trace" }

    /// Whole events of the last hours, where `trace.keep_events_hours` asks for that; it may be lost at any time.
    package var keptEventsPath: String { storePath + "-events" }

    /// What waits for operators' endpoints.
    package var webhooksPath: String { storePath + "-webhooks" }
}

extension Configuration {
    /// `POST /push/:device_token/:id` for Web Push senders (contrib/docs/web-push-ingress.md).
    package struct SealedIngress: Sendable {
        /// The app whose block is used.
        package var app = "default"
        /// The platform whose devices it serves; nil: the only one that offers it.
        package var platform: String?
        /// Where the platform or the app is named, for mistakes that only the loaded plugins show; 0 where no file was
        /// read.
        package var place = (line: 0, column: 0)
        /// Whose word on who a client is counts.
        package var trustedProxies = TrustedProxies() {
            didSet { web.isTrustedProxy = trustedProxies.contains }
        }
        /// Devices that are remembered, at most.
        package var devices = 1_000_000
        /// Where it listens and what one client may do.
        package var web = WebIngressConfiguration()

        package init() {
            web.isTrustedProxy = trustedProxies.contains
        }
    }

    /// The platform that the sealed ingress serves; nil where there is no sealed ingress.
    ///
    /// Throws a mistake where no loaded plugin offers it, where several do and none is named, and where the app has no
    /// block for it.
    package func ingressPlatform(_ platforms: PlatformCatalog) throws(Diagnostics) -> String? {
        guard let ingress = sealedIngress else { return nil }
        guard let platform = ingress.platform ?? platforms.onlyIngressPlatform, platforms[platform]?.ingress != nil
        else {
            let offering = platforms.platforms.filter { platforms[$0]?.ingress != nil }
            let choice = offering.isEmpty ? "no loaded plugin has one" : "one of \(offering.joined(separator: ", "))"
            throw mistake(ingress, "platform: expected a platform whose plugin offers the sealed ingress; \(choice)")
        }
        guard apps[ingress.app]?.platforms[platform] != nil else {
            throw mistake(
                ingress,
                "app: expected the name of an app with a block for \(platform); '\(ingress.app)' has none"
            )
        }
        return platform
    }

    private func mistake(_ ingress: SealedIngress, _ message: String) -> Diagnostics {
        let (line, column) = ingress.place
        return Diagnostics([
            Diagnostic(
                file: file ?? "environment",
                line: line,
                column: column,
                message: "sealed_ingress.\(message)"
            )
        ])
    }
}

/// Networks of proxies whose word on who a client is (`X-Forwarded-For`) counts.
package struct TrustedProxies: Sendable, Equatable {
    /// This machine, where the web server before us mostly is. A program here that says nothing of the kind stays who
    /// it is.
    private static let thisMachine = ["127.0.0.0/8", "::1"].compactMap(AddressBlock.init)

    private let networks: [AddressBlock]

    /// Those, or this machine alone.
    package init(_ networks: [AddressBlock]? = nil) {
        self.networks = networks ?? Self.thisMachine
    }

    /// Whether `address` is that of a proxy.
    package func contains(_ address: String) -> Bool {
        guard let address = IPAddress(address) else { return false }
        return networks.contains { $0.contains(address) }
    }
}
