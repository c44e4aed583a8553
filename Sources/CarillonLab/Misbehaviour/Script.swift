/// The misbehaviours ordered, in order; the first that concerns a request and has a turn left happens to it.
struct Script {
    private struct Scene {
        var misbehaviour: Misbehaviour
        var lots: Lots
        var burstLeft = 0

        init(_ misbehaviour: Misbehaviour) {
            self.misbehaviour = misbehaviour
            lots = Lots(seed: misbehaviour.seed)
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

    /// What is still to come, with what is left of `after` and `times`.
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
