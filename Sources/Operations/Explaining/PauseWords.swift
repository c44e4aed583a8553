import Delivery
import EventTrace

/// Why the deliveries of a queue wait, in words that a person understands.
enum PauseWords {
    static func words(_ paused: TracedPause) -> String {
        let pause = paused.pause
        let place = "\(pause.queue.platform)/\(pause.queue.app)"
        let since = UTCTime(milliseconds: paused.since).words
        let until = UTCTime(milliseconds: pause.until).words
        return switch pause.cause {
        case .misconfigured where pause.reason == "no-transport":
            "no plugin serves \(place) since \(since); it is looked for again from \(until) on"
        case .misconfigured:
            "\(place) is paused since \(since), as it refuses the router's credentials (\(pause.reason)); it is tried again "
                + "from \(until) on"
        case .asked: "\(place) asked for a pause until \(until) (\(pause.reason))"
        }
    }
}
