import Dispatch
import Feed
import Logging
import Nostr
import Pipeline
import RouterConfiguration

extension Router {
    /// The feed that the configuration names, into `intake`. `end` comes with the feed's own where the router is to stop then.
    static func feed(
        _ configuration: Configuration,
        into intake: Intake,
        end: FeedEnd,
        logger: Logger
    ) throws -> Feed? {
        guard let feed = configuration.feed else { return nil }
        return try Feed(
            FeedInput(path: feed.path),
            submit: { events, completion in
                let submission = Submission(events: events, source: .feed) { completion($0.map(\.feedAnswer)) }
                intake.submit(submission)
            },
            ended: { _ in
                logger.notice(feed.stopsAtEnd ? "Stopping, as the feed has ended" : "Serving on without the feed")
                if feed.stopsAtEnd { end.come() }
            },
            now: { Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000) },
            logger: logger
        )
    }
}

extension EventVerdict {
    /// Trouble of our own passes; what is wrong with an event does not.
    fileprivate var feedAnswer: FeedAnswer {
        guard case .refused(let message) = result else { return .taken }
        return MachineReadablePrefix(of: message) == .error ? .notNow : .refused(message)
    }
}
