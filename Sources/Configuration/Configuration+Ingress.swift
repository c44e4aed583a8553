import Core
import HTTPClient
import Push
import Relays
import Storage
import WebIngress

/// Other sources of events and registrations than our own socket, and the data fetched for notifications.
extension Configuration {
    /// Other relays, which the router connects to.
    package struct Relays: Sendable, Equatable {
        /// The relays with a permanent connection, on which all registered accounts are watched.
        package var always: [RelayURL] = []
        /// The source of the additional relays on which a user is watched.
        package var perUser = RelaySource.nip65
        /// The relays for NIP-46 sessions, in addition to our own socket. Default: ``always``.
        package var nip46: [RelayURL] = []
        /// The relays for the advertisement (kind 10067). Default: ``always``.
        package var publish: [RelayURL] = []
        /// How far back a relay is read after a disconnection; 1 to 720 hours.
        package var catchUp: Duration = .hours(48)
    }

    /// Wake-up hints of partners (kind 20062, contrib/docs/registration.md).
    package struct Hints: Sendable, Equatable {
        package var policy = HintPolicy.also
        /// The time after its last hint in which a partner counts as active; 1 to 10,080 minutes.
        package var silentAfter: Duration = .minutes(60)
    }

    /// The rules for registrations.
    package struct Registration: Sendable {
        /// Whether a NIP-46 session is required.
        package var requireSession = false
        /// The file with the secrets that open a session, one per line; nil: no secret is required.
        package var secretFile: String?
        /// The position of its name in the configuration; 0 if no file was read.
        package var secretFilePlace = (line: 0, column: 0)
    }

    /// The data that notifications refer to: names, and the notes that are replied to.
    package struct Context: Sendable {
        /// Whether the router fetches and stores names and notes.
        package var isOn = true
        /// How long a notification waits for data to be fetched; 0 to 10 seconds.
        package var wait: Duration = .milliseconds(1_500)
        /// The file for fetched data; nil: a file next to the store.
        package var path: String?
        /// The position of its name in the configuration; 0 if no file was read.
        package var place = (line: 0, column: 0)
    }

    /// A stream of events as lines of JSON.
    package struct Feed: Sendable {
        /// A file or a FIFO, or `-` for standard input.
        package var path: String
        /// Whether to stop at its end, after all its events are processed.
        package var stopsAtEnd: Bool

        package init(path: String, stopsAtEnd: Bool = false) {
            self.path = path
            self.stopsAtEnd = stopsAtEnd
        }
    }

    /// The file with fetched names and notes, which can be deleted at any time.
    package var contextPath: String { context.path ?? storePath + "-context" }

    /// The file with the results of events, which can be deleted at any time.
    package var tracePath: String { storePath + "-trace" }

    /// The file with whole events of the last hours, if `trace.keep_events_hours` is set; it can be deleted at any
    /// time.
    package var keptEventsPath: String { storePath + "-events" }

    /// The file with queued requests to operators' endpoints.
    package var webhooksPath: String { storePath + "-webhooks" }
}

extension Configuration {
    /// `POST /push/:device_token/:id` for Web Push senders (contrib/docs/web-push-ingress.md).
    package struct SealedIngress: Sendable {
        /// The app whose configuration block is used.
        package var app = "default"
        /// The platform of the devices; nil: the only one that supports the ingress.
        package var platform: String?
        /// The position of the platform or app in the configuration, for errors that only the loaded plugins find; 0 if
        /// no file was read.
        package var place = (line: 0, column: 0)
        /// The proxies that may report a client's address.
        package var trustedProxies = TrustedProxies() {
            didSet { web.isTrustedProxy = trustedProxies.contains }
        }
        /// The maximum number of stored devices.
        package var devices = 1_000_000
        /// The listen address and the limits for one client.
        package var web = WebIngressConfiguration()

        package init() {
            web.isTrustedProxy = trustedProxies.contains
        }
    }

    /// The platform that the sealed ingress serves; nil if there is no sealed ingress.
    ///
    /// Throws an error if no loaded plugin supports it, if several do and none is named, and if the app has no block
    /// for it.
    package func ingressPlatform(_ platforms: PlatformCatalog) throws(Diagnostics) -> String? {
        guard let ingress = sealedIngress else { return nil }
        guard let platform = ingress.platform ?? platforms.onlyIngressPlatform, platforms[platform]?.ingress != nil
        else {
            let offering = platforms.platforms.filter { platforms[$0]?.ingress != nil }
            let choice =
                offering.isEmpty ? "no loaded plugin supports it" : "one of \(offering.joined(separator: ", "))"
            throw mistake(ingress, "platform: expected a platform whose plugin supports the sealed ingress; \(choice)")
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

/// The networks of proxies that may report a client's address (`X-Forwarded-For`).
package struct TrustedProxies: Sendable, Equatable {
    /// This machine, where the reverse proxy usually is. A local program without the header keeps its own address.
    private static let thisMachine = ["127.0.0.0/8", "::1"].compactMap(AddressBlock.init)

    private let networks: [AddressBlock]

    /// Makes a list of networks. Default: only this machine.
    package init(_ networks: [AddressBlock]? = nil) {
        self.networks = networks ?? Self.thisMachine
    }

    /// Whether `address` belongs to a proxy.
    package func contains(_ address: String) -> Bool {
        guard let address = IPAddress(address) else { return false }
        return networks.contains { $0.contains(address) }
    }
}
