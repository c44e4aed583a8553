import PluginKit
import Synchronization
import Units

/// The part that pushes, broadcasts and channel management share: the host, the credentials and the origins.
final class APNsClient: Sendable {
    let host: Host
    let origins: Origins
    let credentials: Credentials
    let provenPlaces = ProvenPlaces()
    private let clock: @Sendable () -> Timestamp
    private let hasReportedPlace = Atomic(false)

    init(host: Host, origins: Origins, credentials: Credentials, now: @escaping @Sendable () -> Timestamp) {
        self.host = host
        self.origins = origins
        self.credentials = credentials
        clock = now
    }

    var now: Timestamp { clock() }

    /// Makes the request carry the proof, on a connection that may carry it.
    func authorize(_ request: inout HTTPRequest, with proof: Proof) {
        request.connection = proof.connection
        if let authorization = proof.authorization {
            request.addHeader("authorization", authorization)
        }
    }

    /// The outcome of a push whose provider token Apple calls expired. The courier sends the push again: by then there
    /// is a new token, and it uses a new connection.
    func outcome(ofExpired proof: Proof) -> Outcome {
        let reason = APNsReason.expiredProviderToken.label
        switch credentials.refuse(proof, now: now) {
        case .renewed: return Outcome(.retry, status: 403, reason: reason)
        case .clocksDisagree:
            host.log(.error, "APNs calls a provider token expired that is new: check this machine's clock")
            return Outcome(.misconfigured, status: 403, reason: reason)
        case nil: return Outcome(.misconfigured, status: 403, reason: reason)
        }
    }

    /// Logs, once, that a setting that all devices depend on may be wrong.
    func reportPlace(_ message: String) {
        if !hasReportedPlace.exchange(true, ordering: .relaxed) {
            host.log(.error, message)
        }
    }
}

/// The environments in which Apple accepted a push since the start. There, neither topic nor environment can be wrong.
final class ProvenPlaces: Sendable {
    /// Pushes for the app's own topic and broadcasts prove different things.
    enum Service: UInt8, Sendable {
        case pushes
        case broadcasts
    }

    private let bits = Atomic<UInt8>(0)

    func contains(_ environment: Environment, _ service: Service) -> Bool {
        bits.load(ordering: .relaxed) & ProvenPlaces.bit(environment, service) != 0
    }

    func insert(_ environment: Environment, _ service: Service) {
        // A load is cheaper than a store, and after the first time there is nothing to store.
        guard !contains(environment, service) else { return }
        bits.bitwiseOr(ProvenPlaces.bit(environment, service), ordering: .relaxed)
    }

    private static func bit(_ environment: Environment, _ service: Service) -> UInt8 {
        1 << (environment.rawValue + 2 * service.rawValue)
    }
}
