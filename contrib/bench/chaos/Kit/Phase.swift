/// A phase of a push service: the share of each failure, per thousand requests.
package struct Phase: Sendable, Equatable {
    package let name: String
    let shares: [Share]

    struct Share: Sendable, Equatable {
        let mischief: Mischief
        let perMille: Int
    }

    private init(_ name: String, _ shares: KeyValuePairs<Mischief, Int>) {
        self.name = name
        self.shares = shares.map { Share(mischief: $0.key, perMille: $0.value) }
    }

    static let calm = Phase("calm", [.manyStreams: 30])

    /// In each of them, connections with a reduced stream limit get a larger one again at some point.
    static let troubled = [
        Phase("resets", [.refusedStream: 150, .internalError: 50, .cancel: 50, .drop: 10, .manyStreams: 30]),
        Phase("goaway", [.gracefulGoAway: 25, .abruptGoAway: 25, .manyStreams: 30]),
        Phase("throttled", [.tooMany: 350, .tooManyRetryAfter: 200, .manyStreams: 30]),
        Phase("down", [.unavailable: 500, .unavailableRetryAfter: 150, .serverError: 100, .manyStreams: 30]),
        Phase("hanging", [.silence: 80, .manyStreams: 30]),
        Phase("dropping", [.drop: 25, .cut: 35, .manyStreams: 30]),
        Phase("late", [.slow: 250, .tooLate: 40, .manyStreams: 30]),
        Phase("proxied", [.html: 250, .slow: 50, .manyStreams: 30]),
        Phase("narrow", [.oneStream: 60, .slow: 20, .refusedStream: 40]),
        Phase("expiring", [.expiredToken: 50, .manyStreams: 30]),
        Phase(
            "storm",
            [
                .refusedStream: 60, .internalError: 20, .cancel: 20, .gracefulGoAway: 5, .abruptGoAway: 5, .tooMany: 40,
                .tooManyRetryAfter: 30, .unavailable: 60, .serverError: 30, .html: 30, .silence: 15, .drop: 8, .cut: 12,
                .slow: 60, .tooLate: 10, .oneStream: 10, .manyStreams: 40, .expiredToken: 2,
            ]
        ),
    ]

    /// Returns the failure for a draw from 0 to 999 if it applies to that transport; nil: the normal response.
    func mischief(drawing draw: UInt64, for transport: ChaosTransport) -> Mischief? {
        var rest = Int(draw % 1_000)
        for share in shares {
            guard rest >= share.perMille else { return share.mischief.concerns(transport) ? share.mischief : nil }
            rest -= share.perMille
        }
        return nil
    }
}

/// One push service's phases, one after the other and then again from the first: drawn from the seed, counted in
/// requests.
package struct PhaseScript: Sendable, Equatable {
    package struct Scene: Sendable, Equatable {
        package let phase: Phase
        /// In requests.
        package let length: Int
    }

    package let scenes: [Scene]
    private let total: Int

    /// Creates phases in random order and with random lengths, within `requests` requests; each phase occurs once.
    package init(seed: UInt64, transport: ChaosTransport, requests: Int) {
        var random = SplitMix64(seed: seed, for: "phases of \(transport.rawValue)")
        let phases = ([.calm] + Phase.troubled).shuffled(using: &random)
        let share = max(8, requests / phases.count)
        scenes = phases.map { phase in
            Scene(phase: phase, length: Int.random(in: max(1, share / 2)...share, using: &random))
        }
        total = scenes.reduce(0) { $0 + $1.length }
    }

    /// Returns the phase of the request with that number, from 0.
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
