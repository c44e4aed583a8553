/// One push service's phases, one after the other and then again from the first: drawn from the seed, counted in requests.
package struct PhaseScript: Sendable, Equatable {
    package struct Scene: Sendable, Equatable {
        package let phase: Phase
        /// In requests.
        package let length: Int
    }

    package let scenes: [Scene]
    private let total: Int

    /// Every phase comes once, in an order and for a time of its own, before `requests` have passed.
    package init(seed: UInt64, transport: ChaosTransport, requests: Int) {
        var random = SplitMix64(seed: seed, for: "phases of \(transport.rawValue)")
        let phases = ([.calm] + Phase.troubled).shuffled(using: &random)
        let share = max(8, requests / phases.count)
        scenes = phases.map { phase in
            Scene(phase: phase, length: Int.random(in: max(1, share / 2)...share, using: &random))
        }
        total = scenes.reduce(0) { $0 + $1.length }
    }

    /// Where the request with that number, from 0, falls.
    func phase(ofRequest number: Int) -> Phase {
        var rest = number % total
        for scene in scenes {
            guard rest >= scene.length else { return scene.phase }
            rest -= scene.length
        }
        return .calm
    }
}

extension PhaseScript: CustomStringConvertible {
    /// `late 120, resets 96, …`
    package var description: String {
        scenes.map { "\($0.phase.name) \($0.length)" }.joined(separator: ", ")
    }
}
