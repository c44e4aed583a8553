import CarillonABI

/// Checks how a transport handles responses of push services, and missing ones.
enum AnswerChecks {
    static func networkFailure(_ bench: TransportBench) throws(CheckStop) -> String {
        for failure in ["timeout", "unreachable", "unresolved", "tls", "closed", "protocol-error", "overloaded", ""] {
            bench.at("failure \(failure)")
            guard let kind = try bench.kind(answered: .nothing(because: failure))?.kind else { continue }
            guard kind == .CARILLON_RETRY else {
                throw .failed(
                    "no answer (status 0, failure \"\(failure)\") became \(kind.name): a network error is not about "
                        + "the device or the message; make it CARILLON_RETRY"
                )
            }
        }
        for failure in ["forbidden-address", "invalid-url", "shutdown", "some-new-word"] {
            bench.at("failure \(failure)")
            guard let kind = try bench.kind(answered: .nothing(because: failure))?.kind else { continue }
            if kind == .CARILLON_GONE || kind == .CARILLON_DELIVERED {
                throw .failed("no answer (status 0, failure \"\(failure)\") became \(kind.name)")
            }
        }
        return ""
    }

    static func serverError(_ bench: TransportBench) throws(CheckStop) -> String {
        let page = "<html><body><h1>502 Bad Gateway</h1></body></html>"
        for status: UInt32 in [500, 502, 503, 504] {
            for answer in [Answer(status), Answer(status, headers: [("content-type", "text/html")], body: page)] {
                bench.at("status \(status)")
                guard let kind = try bench.kind(answered: answer)?.kind else { continue }
                if kind == .CARILLON_RETRY || kind == .CARILLON_MISCONFIGURED { continue }
                throw .failed(
                    "status \(status) became \(kind.name): the error is the push service's, not the device's or the message's; "
                        + "make it CARILLON_RETRY"
                )
            }
        }
        return ""
    }

    static func throttling(_ bench: TransportBench) throws(CheckStop) -> String {
        for value in ["", "soon", "-1", "0", "99999999999999999999999", "Thu, 01 Jan 1970 00:00:00 GMT"] {
            bench.at("retry-after \(value)")
            guard let kind = try bench.kind(answered: Answer(429, headers: [("retry-after", value)]))?.kind else {
                continue
            }
            guard kind == .CARILLON_RETRY else {
                throw .failed(
                    "status 429 with the retry-after \"\(value)\" became \(kind.name): make it CARILLON_RETRY"
                )
            }
        }
        bench.at("retry-after 120")
        guard let (kind, retryAfter) = try bench.kind(answered: Answer(429, headers: [("retry-after", "120")])) else {
            return ""
        }
        guard kind == .CARILLON_RETRY else {
            throw .failed("status 429 with the retry-after \"120\" became \(kind.name): make it CARILLON_RETRY")
        }
        if retryAfter == 0 { return "it ignores retry-after, which could fill retry_after_ms" }
        guard (60_000...600_000).contains(retryAfter) else {
            throw .failed(
                "the retry-after of 120 seconds became a retry_after_ms of \(retryAfter): these are milliseconds, 120000"
            )
        }
        return ""
    }

    static func refusal(_ bench: TransportBench) throws(CheckStop) -> String {
        for status: UInt32 in [301, 304, 400, 401, 403, 404, 405, 408, 410, 413, 418] {
            bench.at("status \(status)")
            guard let kind = try bench.kind(answered: Answer(status))?.kind else { continue }
            if kind == .CARILLON_DELIVERED { throw .failed("status \(status) became CARILLON_DELIVERED") }
            if kind == .CARILLON_GONE, [301, 304, 401, 403, 408, 413].contains(status) {
                throw .failed(
                    "status \(status) became CARILLON_GONE, which deletes the registration: use it only if the push "
                        + "service reports the device as gone"
                )
            }
        }
        return ""
    }

    static func oddAnswers(_ bench: TransportBench) throws(CheckStop) -> String {
        for (what, answer) in HostileInput.answers {
            bench.at(what)
            guard let kind = try bench.kind(answered: answer)?.kind else { continue }
            if kind == .CARILLON_DELIVERED, !(200...299).contains(answer.status) {
                throw .failed("\(what) (status \(answer.status)) became CARILLON_DELIVERED")
            }
        }
        return ""
    }

    static func refusedRequest(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        let instance = try bench.regular()
        instance.host.set(.refuse)
        let (ticket, status) = instance.deliver(sample)
        switch status {
        case .CARILLON_OK: break
        case .CARILLON_BUSY, .CARILLON_FAILED: return ""
        default:
            throw .failed(
                "http_request returned CARILLON_BUSY, and deliver then \(status.rawValue), which drops the notification: "
                    + "return CARILLON_BUSY as well"
            )
        }
        guard bench.wait(for: instance, until: { $0.deliveries[ticket]?.answers.isEmpty == false }),
            let ending = instance.host.log.deliveries[ticket]?.answers.first
        else { throw .unended }
        guard ending.kind == nil || ending.kind == .CARILLON_RETRY else {
            throw .failed(
                "http_request returned CARILLON_BUSY, and the delivery ended as \(ending.kind?.name ?? ""): return "
                    + "CARILLON_BUSY from deliver, or end it as CARILLON_RETRY"
            )
        }
        return ""
    }
}
