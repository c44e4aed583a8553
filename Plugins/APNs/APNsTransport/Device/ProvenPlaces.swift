import Synchronization

/// Where Apple ever took something of ours since the start: then neither topic nor environment can be wrong.
final class ProvenPlaces: Sendable {
    /// What was taken: pushes for the app's own topic and broadcasts prove different things.
    enum Service: UInt8, Sendable {
        case pushes
        case broadcasts
    }

    private let bits = Atomic<UInt8>(0)

    func contains(_ environment: Environment, _ service: Service) -> Bool {
        bits.load(ordering: .relaxed) & ProvenPlaces.bit(environment, service) != 0
    }

    func insert(_ environment: Environment, _ service: Service) {
        // Reading is cheaper than writing, and after the first time there is nothing to write.
        guard !contains(environment, service) else { return }
        bits.bitwiseOr(ProvenPlaces.bit(environment, service), ordering: .relaxed)
    }

    private static func bit(_ environment: Environment, _ service: Service) -> UInt8 {
        1 << (environment.rawValue + 2 * service.rawValue)
    }
}
