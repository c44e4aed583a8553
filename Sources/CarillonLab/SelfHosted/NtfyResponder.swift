import NIOCore

/// Answers requests to the lab's UnifiedPush or ntfy server, and records them.
struct NtfyResponder: Sendable {
    private struct Outcome {
        var answer: HTTPAnswer
        var reason: String?
        var detail: String?
        var decrypted: [UInt8]?
        var message: JSONValue?

        init(_ answer: HTTPAnswer) {
            self.answer = answer
        }

        init(_ error: NtfyError) {
            answer = HTTPAnswer(status: error.http, json: error.json)
            reason = error.error
            detail = error == .tooLarge ? "the message has more than \(NtfyPublication.messageLimit) bytes" : nil
        }
    }

    let core: LabCore
    /// ``LabService/unifiedPush`` or ``LabService/ntfy``.
    let service: LabService
    let oversize: LabConfiguration.UnifiedPush.Oversize
    let access: NtfyAccess
    /// Available once the service listens.
    let origin: @Sendable () -> String

    func decide(_ request: LabRequest) -> HTTP1Conduct {
        if request.method == "GET", let answer = read(request) {
            return .answer(withCORS(answer))
        }
        let now = core.now()
        var topic = (try? NtfyPublication.topic(of: request)) ?? ""
        var outcome: Outcome
        var conduct: Misbehaviour.Conduct?
        do throws(NtfyError) {
            let publication = try NtfyPublication(checking: request, oversize: oversize)
            topic = publication.topic
            outcome = try publish(publication, request, now: now)
            if request.body.count > publication.body.count, publication.isUnifiedPush {
                outcome.detail = "the message has \(request.body.count) bytes and was cut at \(publication.body.count)"
            }
            conduct = core.conduct(towards: topic, of: service)
        } catch {
            outcome = Outcome(error)
        }
        var reason = outcome.reason
        outcome.answer.replace(by: conduct) { ordered in
            let error = NtfyError.ordered(ordered)
            reason = error.error
            return HTTPAnswer(status: ordered.status, json: error.json)
        }
        var received = ReceivedRequest(
            request,
            to: service,
            target: topic,
            at: now,
            outcome.answer,
            reason: reason,
            detail: outcome.detail,
            conduct
        )
        received.decrypted = outcome.decrypted
        received.message = outcome.message
        core.recorder.add(received)
        return HTTP1Conduct(withCORS(outcome.answer), misbehaving: conduct)
    }

    /// Answers requests that are not messages. They are not recorded: they may also come from somebody who looks for
    /// the program that had the port before.
    private func read(_ request: LabRequest) -> HTTPAnswer? {
        if request.path == "/v1/health" { return HTTPAnswer(status: 200, json: #"{"healthy":true}"#) }
        guard !NtfyPublication.publishesByGet(request) else { return nil }
        guard NtfyParameters(request).asksForUnifiedPush, (try? NtfyPublication.topic(of: request)) != nil else {
            return HTTPAnswer(status: NtfyError.notFound.http, json: NtfyError.notFound.json)
        }
        return HTTPAnswer(status: 200, json: #"{"unifiedpush":{"version":1}}"#)
    }

    private func publish(
        _ publication: NtfyPublication,
        _ request: LabRequest,
        now: Int64
    ) throws(NtfyError) -> Outcome {
        try access.check(request, topic: publication.topic)
        let (receiver, topic) = core.withState { state in
            (state.receivers[publication.topic], state.topics[service]?[publication.topic])
        }
        if let refusal = topic?.refusal(isUnifiedPush: publication.isUnifiedPush) { throw refusal }
        let message = try NtfyMessage(publication, now: now / 1_000, random: core.random)
        var outcome = Outcome(HTTPAnswer(status: 200, json: message.members.compact))
        outcome.message = message.members
        guard let receiver else { return outcome }
        if let key = receiver.applicationServerKey {
            try checkVAPID(request, key, now: now)
        }
        // A push server cannot read the body and accepts anything. The record says what the device would have found.
        if publication.isEncrypted {
            do {
                outcome.decrypted = try receiver.decryption.open(publication.body)
            } catch {
                outcome.detail = "the device cannot read it: \(error)"
            }
        } else {
            outcome.detail = "the device cannot read it: there is no Content-Encoding aes128gcm"
        }
        return outcome
    }

    /// Checks the signature for an app that gave its distributor its server's key (AND_3, RFC 8292 section 4.2).
    private func checkVAPID(_ request: LabRequest, _ key: String, now: Int64) throws(NtfyError) {
        guard let authorization = request.header("authorization") else {
            throw NtfyError(40101, "the endpoint takes messages of one application server only")
        }
        let check = VAPIDCheck(origin: request.origin(or: origin()), now: now / 1_000, needsSubject: false)
        do throws(WebPushRejection) {
            guard try check.check(authorization) == key else {
                throw WebPushRejection(.keyMismatch, "the app registered with another key than k")
            }
        } catch {
            throw NtfyError(40301, "VAPID: \(error.detail)")
        }
    }

    private func withCORS(_ answer: HTTPAnswer) -> HTTPAnswer {
        var answer = answer
        answer.headers.append(LabHeader("access-control-allow-origin", "*"))
        return answer
    }
}
