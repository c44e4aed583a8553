/// The ordered misbehaviours. The first that concerns a request and has turns left happens to it.
struct Script {
    private struct Scene {
        var misbehaviour: Misbehaviour
        var lots: SeededDraws
        var burstLeft = 0

        init(_ misbehaviour: Misbehaviour) {
            self.misbehaviour = misbehaviour
            lots = SeededDraws(seed: misbehaviour.seed)
        }

        mutating func isDrawn() -> Bool {
            guard let share = misbehaviour.share else { return true }
            if burstLeft > 0 {
                burstLeft -= 1
                return true
            }
            guard lots.fall(share) else { return false }
            burstLeft = max(1, misbehaviour.burst) - 1
            return true
        }
    }

    private var scenes: [Scene] = []

    init(_ misbehaviours: [Misbehaviour] = []) {
        add(contentsOf: misbehaviours)
    }

    /// The remaining misbehaviours, with their remaining `after` and `times`.
    var pending: [Misbehaviour] { scenes.map(\.misbehaviour) }

    mutating func add(contentsOf misbehaviours: [Misbehaviour]) {
        scenes += misbehaviours.map(Scene.init)
    }

    mutating func removeAll() {
        scenes.removeAll()
    }

    /// What happens to the next request that has passed every check; nil for the answer it has earned.
    mutating func next(_ service: LabService, _ target: String) -> Misbehaviour.Conduct? {
        for index in scenes.indices where scenes[index].misbehaviour.concerns(service, target) {
            if scenes[index].misbehaviour.after > 0 {
                scenes[index].misbehaviour.after -= 1
                continue
            }
            guard scenes[index].isDrawn() else { continue }
            let conduct = scenes[index].misbehaviour.conduct
            if let left = scenes[index].misbehaviour.times {
                if left > 1 {
                    scenes[index].misbehaviour.times = left - 1
                } else {
                    scenes.remove(at: index)
                }
            }
            return conduct
        }
        return nil
    }
}

/// Random draws that are the same for the same seed (SplitMix64).
struct SeededDraws: Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// True for the given share of calls, from 0 to 1.
    mutating func fall(_ share: Double) -> Bool {
        // 53 bits: the precision of a Double between 0 and 1.
        Double(next() >> 11) * 0x1p-53 < share
    }

    private mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
