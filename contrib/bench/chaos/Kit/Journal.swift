import Core
import Delivery
import HTTPClient
import PluginHost
import Push
import Synchronization

/// Events on our side, in order.
package struct Journal: Sendable {
    /// The result of a request, as the lanes reported it to the plugin.
    package enum End: Sendable, Equatable {
        case answered(status: Int)
        case failed(reason: String, mayHaveBeenProcessed: Bool)
    }

    /// One request that a plugin asked for.
    package struct Sending: Sendable {
        /// An index into `attempts`.
        package var attempt: Int
        /// A moment: counted over everything that is noted here.
        package var began: Int
        package var ended: Int?
        package var end: End?

        package init(attempt: Int, began: Int, ended: Int? = nil, end: End? = nil) {
            self.attempt = attempt
            self.began = began
            self.ended = ended
            self.end = end
        }
    }

    /// One attempt of the courier's.
    package struct Attempt: Sendable {
        /// An index into the population's deliveries.
        package var delivery: Int
        package var began: Int
        package var ended: Int?
        package var outcome: Outcome?

        package init(delivery: Int, began: Int, ended: Int? = nil, outcome: Outcome? = nil) {
            self.delivery = delivery
            self.began = began
            self.ended = ended
            self.outcome = outcome
        }
    }

    /// Numbered from 0: a header carries the number, so that the lab's record distinguishes them.
    package var sendings: [Sending] = []
    package var attempts: [Attempt] = []
    package var reports: [DeliveryReport] = []
    /// Requests that belong to no delivery in progress.
    package var strays = 0
    /// Pauses of queues: for bad credentials, and at a push service's request.
    package var misconfigurations = 0
    package var requestedPauses = 0
    package var outboxFailures: [String] = []

    package init() {}
}

/// Keeps the journal during a run.
final class JournalKeeper: Sendable {
    private struct State {
        var journal = Journal()
        var moment = 0
        /// The number of the attempt in progress, by device.
        var underWay: [DeviceID: Int] = [:]
        var ended: [String: Int] = [:]

        mutating func nextMoment() -> Int {
            moment += 1
            return moment
        }
    }

    private let population: Population
    private let state = Mutex(State())

    init(_ population: Population) {
        self.population = population
    }

    var journal: Journal { state.withLock { $0.journal } }

    /// How many deliveries have ended, by platform.
    var ended: [String: Int] { state.withLock { $0.ended } }

    func attemptBegan(_ delivery: Delivery) -> Int? {
        guard let index = population.index(of: delivery.id) else { return nil }
        return state.withLock { state in
            let number = state.journal.attempts.count
            state.journal.attempts.append(Journal.Attempt(delivery: index, began: state.nextMoment()))
            state.underWay[delivery.device] = number
            return number
        }
    }

    func attemptEnded(_ number: Int?, to device: DeviceID, _ outcome: Outcome) {
        guard let number else { return }
        state.withLock { state in
            if state.underWay[device] == number { state.underWay[device] = nil }
            state.journal.attempts[number].ended = state.nextMoment()
            state.journal.attempts[number].outcome = outcome
        }
    }

    /// Returns the number of a request to that device; nil if no delivery to it is in progress.
    func sendingBegan(to device: DeviceID) -> Int? {
        state.withLock { state in
            guard let attempt = state.underWay[device] else {
                state.journal.strays += 1
                return nil
            }
            let number = state.journal.sendings.count
            state.journal.sendings.append(Journal.Sending(attempt: attempt, began: state.nextMoment()))
            return number
        }
    }

    func sendingEnded(_ number: Int, _ end: Journal.End) {
        state.withLock { state in
            state.journal.sendings[number].ended = state.nextMoment()
            state.journal.sendings[number].end = end
        }
    }
}

extension JournalKeeper: DeliveryObserver {
    func deliveriesReported(_ reports: [DeliveryReport]) {
        state.withLock { state in
            for report in reports where report.kind.isFinal { state.ended[report.queue.platform, default: 0] += 1 }
            state.journal.reports += reports
        }
    }

    func queuePaused(_ pause: QueuePause) {
        state.withLock { state in
            switch pause.cause {
            case .misconfigured: state.journal.misconfigurations += 1
            case .asked: state.journal.requestedPauses += 1
            }
        }
    }

    func queueResumed(_ queue: QueueName) {}

    func outboxFailed(_ error: any Error) { state.withLock { $0.journal.outboxFailures.append("\(error)") } }
}

/// A plugin's instance as the courier sees it, with every attempt in the journal.
///
/// FCM's plugin measures its wait for another access token by the real clock, but the courier's clock runs faster. The
/// reported wait is lengthened; otherwise the courier would retry a hundred times in vain.
struct JournalledTransport: Transport {
    let instance: TransportInstance
    let journal: JournalKeeper
    /// The speed of the courier's clock, as a multiple of the real one.
    let haste: Int64

    func deliver(_ attempts: [DeliveryAttempt]) {
        let noted = attempts.map { attempt in
            let (delivery, completion) = (attempt.delivery, attempt.completion)
            let number = journal.attemptBegan(delivery)
            return DeliveryAttempt(delivery, to: attempt.address) { [journal] outcome in
                journal.attemptEnded(number, to: delivery.device, outcome)
                completion(outcome.isOfTokenEndpoint ? outcome.waiting(times: haste) : outcome)
            }
        }
        instance.deliver(noted)
    }
}

extension Outcome {
    /// No access token is available: a wait without a response to the message itself.
    fileprivate var isOfTokenEndpoint: Bool { reason.hasPrefix("token-") || status == 0 && retryAfter > .zero }

    fileprivate func waiting(times factor: Int64) -> Outcome {
        var longer = self
        longer.retryAfter = retryAfter * factor
        return longer
    }
}

/// The lanes that plugins get in a run. Every request to a device gets its number in a header and a short deadline, and
/// is recorded in the journal.
struct NumberedSender: HTTPSender {
    static let header = "x-chaos-sending"
    private static let token = Array(#""token":""#.utf8)

    let lanes: HTTPLanes
    let journal: JournalKeeper
    /// By the lab's name for the device.
    let devices: [String: DeviceID]
    /// In milliseconds.
    let timeout: UInt32

    func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void) {
        var request = request
        request.timeout = min(request.timeout, .milliseconds(timeout))
        guard let device = target(of: request).flatMap({ devices[$0] }), let number = journal.sendingBegan(to: device)
        else { return lanes.send(request, completion: completion) }
        request.headers.append(HTTPField(Self.header, String(number)))
        lanes.send(request) { [journal] result in
            switch result {
            case .success(let response): journal.sendingEnded(number, .answered(status: response.status))
            case .failure(let failure):
                journal.sendingEnded(
                    number,
                    .failed(
                        reason: failure.reason.rawValue,
                        mayHaveBeenProcessed: failure.mayHaveBeenProcessed
                    )
                )
            }
            completion(result)
        }
    }

    func retire(_ scope: ConnectionScope) { lanes.retire(scope) }

    /// Returns the lab's name for the device: the end of the path, or FCM's token in the body.
    private func target(of request: HTTPRequest) -> String? {
        if request.url.hasSuffix("/messages:send") {
            guard let start = request.body.firstRange(of: Self.token)?.upperBound else { return nil }
            return String(decoding: request.body[start...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        }
        return URLParts(request.url)?.target.split(separator: "?").first?.split(separator: "/").last.map(String.init)
    }
}
