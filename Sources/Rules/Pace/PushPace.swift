import Notifications

/// What pacing has to know of a push.
package struct PacedPush: Sendable, Hashable {
    /// The push service's word for its type, such as `liveactivity`. Pushes of two types never become one.
    package var type: String
    package var nature: PushNature
    package var pace: PushPace
    /// Whether `pace` holds whatever the rule says.
    var isFixed = false

    static let alert = PacedPush(type: "alert", nature: .alert, pace: .batch)
    /// A message with nothing but keys for the app.
    static let data = PacedPush(type: "data", nature: .silent, pace: .latest)

    /// This push as a rule wants it. Only alerts and silent pushes can say how many they stand for.
    func paced(_ stated: PushPace?) -> PacedPush {
        guard let stated, !isFixed else { return self }
        var push = self
        push.pace = stated == .batch && nature == .special ? .latest : stated
        return push
    }

    /// The wake-up that stands for this push in ``Mode/wake``. It says nothing that a later one could replace, so those
    /// that wait are counted.
    var wakeUp: PacedPush {
        PacedPush(type: "wake", nature: .silent, pace: pace == .immediate ? .immediate : .batch)
    }
}
