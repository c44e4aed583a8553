/// The misbehaviours ordered, in order; the first that concerns a request and has a turn left happens to it.
struct Script {
    private struct Scene {
        var misbehaviour: Misbehaviour
        var toPass: Int
        var turnsLeft: Int?
    }

    private var scenes: [Scene] = []

    init(_ misbehaviours: [Misbehaviour] = []) {
        add(contentsOf: misbehaviours)
    }

    mutating func add(contentsOf misbehaviours: [Misbehaviour]) {
        scenes += misbehaviours.map { Scene(misbehaviour: $0, toPass: $0.after, turnsLeft: $0.times) }
    }

    mutating func removeAll() {
        scenes.removeAll()
    }

    /// What happens to the next request that has passed every check; nil for the answer it has earned.
    mutating func next(_ service: LabService, _ target: String) -> Misbehaviour.Conduct? {
        for index in scenes.indices where scenes[index].misbehaviour.concerns(service, target) {
            if scenes[index].toPass > 0 {
                scenes[index].toPass -= 1
                continue
            }
            let conduct = scenes[index].misbehaviour.conduct
            if let left = scenes[index].turnsLeft {
                if left > 1 {
                    scenes[index].turnsLeft = left - 1
                } else {
                    scenes.remove(at: index)
                }
            }
            return conduct
        }
        return nil
    }
}
