import CarillonLab
import Synchronization

/// Chooses the failure of each request that the lab would accept.
///
/// The failure of a device's n-th request depends only on the seed, the device, n and the phase of its push service. A
/// run with the same seed meets the same failures if its requests come in the same order.
package final class MischiefMaker: Sendable {
    private struct Target {
        var requests = 0
        /// Requests in a row without their normal response.
        var inARow = 0
    }

    private struct State {
        var requests: [ChaosTransport: Int] = [:]
        var targets: [String: Target] = [:]
        var injected: [ChaosTransport: [Mischief: Int]] = [:]
        var hanging: ChaosTransport?
        var tokenRequests = 0
        var tokenMischiefs = 0
    }

    /// Maximum number of failures in a row of a device's requests, so that every delivery ends.
    private static let maxInARow = 5

    private let plan: ChaosPlan
    package let scripts: [ChaosTransport: PhaseScript]
    private let deaths: [String: Int]
    private let state: Mutex<State>

    init(_ plan: ChaosPlan, _ devices: [ChaosDevice]) {
        self.plan = plan
        var scripts: [ChaosTransport: PhaseScript] = [:]
        if plan.weather == .chaos {
            for transport in plan.transports {
                let requests = plan.deliveries / plan.transports.count
                scripts[transport] = PhaseScript(seed: plan.seed, transport: transport, requests: requests)
            }
        }
        self.scripts = scripts
        deaths = Dictionary(
            uniqueKeysWithValues: devices.compactMap { device in device.requestsBeforeDeath.map { (device.target, $0) }
            }
        )
        var state = State()
        if case .hanging(let transport) = plan.weather { state.hanging = transport }
        self.state = Mutex(state)
    }

    /// The failures injected so far.
    package var injected: [ChaosTransport: [Mischief: Int]] { state.withLock { $0.injected } }

    /// Requests for access tokens that went wrong.
    package var tokenMischiefs: Int { state.withLock { $0.tokenMischiefs } }

    /// Makes the hanging service respond from now on.
    func release() { state.withLock { $0.hanging = nil } }

    /// `LabConfiguration.randomMisbehaviour`.
    func behavior(_ service: LabService, _ target: String) -> ScriptedBehavior.Action? {
        guard let transport = ChaosTransport(service: service) else {
            return service == .oauth ? conductOfTokenEndpoint() : nil
        }
        return state.withLock { state in
            let number = state.requests[transport, default: 0]
            state.requests[transport] = number + 1
            var known = state.targets[target] ?? Target()
            defer {
                known.requests += 1
                state.targets[target] = known
            }
            var random = SplitMix64(seed: plan.seed, for: "request \(known.requests) for \(target)")
            let mischief: Mischief?
            if state.hanging == transport {
                mischief = .silence
            } else if let death = deaths[target], known.requests >= death {
                mischief = .gone
            } else if known.inARow >= Self.maxInARow {
                mischief = nil
            } else {
                mischief = scripts[transport]?.phase(ofRequest: number)
                    .mischief(drawing: random.next(), for: transport)
            }
            guard let mischief else {
                known.inARow = 0
                return nil
            }
            known.inARow += 1
            state.injected[transport, default: [:]][mischief, default: 0] += 1
            return mischief.behavior(of: transport, requestTimeout: plan.requestTimeout, draw: random.next())
        }
    }

    /// Every other request for a token fails, so that the pauses between them, which are real seconds, stay short.
    private func conductOfTokenEndpoint() -> ScriptedBehavior.Action? {
        guard plan.weather == .chaos else { return nil }
        return state.withLock { state in
            state.tokenRequests += 1
            guard state.tokenRequests.isMultiple(of: 2) == false else { return nil }
            state.tokenMischiefs += 1
            var random = SplitMix64(seed: plan.seed, for: "token request \(state.tokenRequests)")
            switch random.next() % 5 {
            case 0: return .answer(status: 503)
            case 1: return .tooManyRequests(retryAfter: 1)
            case 2: return .html(status: 502)
            case 3: return .cut
            default: return .close
            }
        }
    }
}
