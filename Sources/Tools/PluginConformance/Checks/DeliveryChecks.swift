import CarillonABI
import HTTPClient
import PluginHost

/// Checks registrations, deliveries and the rules for outcomes.
enum DeliveryChecks {
    static func validate(_ bench: TransportBench) throws(CheckStop) -> String {
        guard bench.functions.validate != nil else { throw .skipped("it has no validate") }
        let instance = try bench.instance()
        let samples = Samples.parcels(bench)
        let inputs = samples.map { ("a usual registration", $0) } + HostileInput.registrations(of: samples)
        var first: [RefusedCall] = []
        for (what, parcel) in inputs {
            bench.at(what)
            guard let refusal = instance.validate(parcel) else { continue }
            bench.note(refusal, of: what)
            first.append(refusal)
        }
        // A second round, because an answer may depend on earlier calls.
        for (before, (what, parcel)) in zip(first, inputs) {
            bench.at("\(what), again")
            guard let again = instance.validate(parcel) else { continue }
            guard again.status == before.status, again.said == before.said else {
                throw .failed(
                    "for \(what) it returned \(word(before)) and then \(word(again)): validate must be pure, so that the "
                        + "same registration gets the same result every time"
                )
            }
        }
        for (what, parcel) in inputs.prefix(samples.count + 2) {
            for capacity in [0, 1, 7] {
                guard let refusal = instance.validate(parcel, capacity: capacity) else { continue }
                bench.note(refusal, of: "\(what), with an error buffer of \(capacity) bytes")
            }
        }
        let log = instance.host.log
        guard log.requests.isEmpty || log.hasTimers else {
            throw .failed("validate makes HTTP requests: it must do no I/O")
        }
        instance.destroy()
        return ""
    }

    private static func word(_ refusal: RefusedCall) -> String {
        refusal.isRefused ? "no (\(refusal.status.rawValue): \(refusal.said))" : "yes"
    }

    /// Finds a registration and a mode that lead to a delivery: the sample of all later checks.
    static func deliver(_ bench: TransportBench) throws(CheckStop) -> String {
        guard bench.configuration != nil else {
            throw .failed(
                "nothing was delivered, because no configuration is known that it accepts: give one with --block "
                    + "\(bench.functions.name)=FILE"
            )
        }
        let instance = try bench.regular()
        var accepted: Parcel?
        var ends: Set<String> = []
        for parcel in Samples.parcels(bench) {
            for mode in [carillon_mode.CARILLON_ALERT, .CARILLON_WAKE, .CARILLON_SEALED, .CARILLON_NUDGE] {
                let parcel = parcel.inMode(mode.rawValue)
                if instance.validate(parcel)?.isRefused == true {
                    ends.insert("validate refuses the registration")
                    continue
                }
                let requests = instance.host.log.requests.count
                let fate = bench.fate(of: parcel, on: instance)
                let isAtWork = instance.host.log.requests.count > requests
                switch fate {
                case .refused(let status): ends.insert("deliver returns \(status.rawValue)")
                case .ended(let ending) where ending.kind == .CARILLON_DELIVERED:
                    bench.sample = parcel
                    guard isAtWork else {
                        throw .failed(
                            "it reports a notification as delivered without a request: report "
                                + "CARILLON_DELIVERED only after the push service has accepted the message"
                        )
                    }
                    return ""
                case .ended(let ending):
                    // Without any request to a push service there was no answer to honour.
                    if isAtWork || instance.host.log.streams > 0 {
                        accepted = accepted ?? parcel
                    } else {
                        ends.insert("a delivery ends as \(ending.kind?.name ?? "nothing known") without a request")
                    }
                case .open: accepted = accepted ?? parcel
                }
            }
        }
        guard let accepted else {
            throw .failed(
                "no delivery led to a request (\(ends.sorted().joined(separator: "; "))): if it accepts none of the usual "
                    + "registrations, give one with --registration \(bench.functions.name)=TOKEN"
            )
        }
        bench.sample = accepted
        return "no delivery ended as CARILLON_DELIVERED when the push service responded with 200"
    }

    static func rule(_ check: ConformanceCheck, _ bench: TransportBench) throws(CheckStop) -> String {
        _ = try bench.knownSample()
        let instance = try bench.regular()
        let isIdle = bench.wait(for: instance, until: \.isIdle)
        let log = instance.host.log
        if let breach = log.breach(of: check) {
            bench.broken.insert(check)
            throw .failed(breach)
        }
        if check == .requests, let flaw = RequestBodies.flaw(in: log.requests) { throw .failed(flaw) }
        if check == .completes, !isIdle {
            // Another error occurred, and later checks wait too briefly to check this rule.
            bench.broken.insert(check)
            throw .unended
        }
        return "\(log.deliveries.count) deliveries, \(log.requests.count) requests"
    }

    static func secrets(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        let said = bench.refusals.map { Array($0.refusal.said.utf8) }
        let secrets =
            [("the registration's token", sample.token), ("the notification's title", sample.title)]
            + sample.fields.map { ("the registration's \(String(decoding: $0.name, as: UTF8.self))", $0.value) }
        for (what, secret) in secrets where secret.count >= 16 {
            if try bench.regular().host.log.lines.contains(where: { Bytes.contain($0, secret) }) {
                throw .failed("it logs \(what): never log tokens, keys or payloads")
            }
            if said.contains(where: { Bytes.contain($0, secret) }) {
                throw .failed("one of its errors contains \(what): write what was expected, not what was found")
            }
        }
        return ""
    }

    static func messageID(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        let instance = try bench.regular()
        let before = instance.host.log.requests.count
        for _ in 0..<2 {
            guard case .ended = bench.fate(of: sample, on: instance) else {
                throw .unended
            }
        }
        let requests = instance.host.log.requests.dropFirst(before)
        let id = String(decoding: sample.id, as: UTF8.self)
        let headers = Set(requests.flatMap(\.headers).filter { $0.value.contains(id) }.map(\.name)).sorted()
        if !headers.isEmpty { return "the id travels in \(headers.joined(separator: ", "))" }
        if requests.contains(where: { Bytes.contain($0.body, sample.id) }) { return "the id travels in the body" }
        return "no request has the notification's id in the clear: a retry may show it twice"
    }
}

/// All checks of a transport, in order. A check returns a remark, or an empty string.
enum TransportChecks {
    typealias Body = @Sendable (TransportBench) throws(CheckStop) -> String

    static let all: [(check: ConformanceCheck, body: Body)] = [
        (.describe, DescriptionChecks.describe),
        (.checkBlock, DescriptionChecks.check),
        (.createEmpty, { bench throws(CheckStop) in try CreationChecks.createEmpty(bench) }),
        (.createConfigured, { bench throws(CheckStop) in try CreationChecks.createConfigured(bench) }),
        (.createHostile, { bench throws(CheckStop) in try CreationChecks.createHostile(bench) }),
        (.validate, DeliveryChecks.validate),
        (.errorText, { bench throws(CheckStop) in try CreationChecks.errorText(bench) }),
        (.deliver, DeliveryChecks.deliver),
        (.networkFailure, AnswerChecks.networkFailure),
        (.serverError, AnswerChecks.serverError),
        (.throttling, AnswerChecks.throttling),
        (.refusal, AnswerChecks.refusal),
        (.oddAnswers, AnswerChecks.oddAnswers),
        (.refusedRequest, AnswerChecks.refusedRequest),
        (.completes, { bench throws(CheckStop) in try DeliveryChecks.rule(.completes, bench) }),
        (.completesOnce, { bench throws(CheckStop) in try DeliveryChecks.rule(.completesOnce, bench) }),
        (.outcome, { bench throws(CheckStop) in try DeliveryChecks.rule(.outcome, bench) }),
        (.requests, { bench throws(CheckStop) in try DeliveryChecks.rule(.requests, bench) }),
        (.services, ServiceChecks.transport),
        (.userURLs, UserURLChecks.userURLs),
        (.secrets, DeliveryChecks.secrets),
        (.messageID, DeliveryChecks.messageID),
        (.modes, ContentChecks.modes),
        (.hostileText, ContentChecks.hostileText),
        (.borrowedMemory, LifecycleChecks.borrowedMemory),
        (.newerHost, LifecycleChecks.newerHost),
        (.instances, ContentChecks.instances),
        (.cancel, LifecycleChecks.cancel),
        (.command, CommandChecks.command),
        (.deliverMany, OptionalFunctionChecks.deliverMany),
        (.receive, OptionalFunctionChecks.receive),
        (.threads, LifecycleChecks.threads),
        (.shutdown, LifecycleChecks.shutdown),
    ]
}
