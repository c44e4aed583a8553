import NIOCore

/// Decides what requests to the lab's UnifiedPush push server get, and records it.
struct UnifiedPushDesk: Sendable {
    private struct Outcome {
        var answer: HTTPAnswer
        var reason: String?
        var detail: String?
        var decrypted: [UInt8]?
    }

    let core: LabCore
    let oversize: LabConfiguration.UnifiedPush.Oversize

    func decide(_ request: HTTP1Request) -> HTTP1Conduct {
        if request.method == "GET", NtfyPublication.asksForUnifiedPush(request),
            (try? NtfyPublication.topic(of: request)) != nil
        {
            return .answer(withCORS(HTTPAnswer(status: 200, json: #"{"unifiedpush":{"version":1}}"#)))
        }
        let now = core.now()
        let topic = (try? NtfyPublication.topic(of: request)) ?? ""
        var outcome: Outcome
        var conduct: Misbehaviour.Conduct?
        do throws(NtfyError) {
            outcome = publish(try NtfyPublication(checking: request, oversize: oversize), now: now)
            if request.body.count > NtfyPublication.messageLimit {
                outcome.detail =
                    "the message has \(request.body.count) bytes and was cut at \(NtfyPublication.messageLimit)"
            }
            conduct = core.conduct(towards: topic, of: .unifiedPush)
        } catch {
            outcome = Outcome(
                answer: HTTPAnswer(status: error.http, json: error.json),
                reason: error.error,
                detail: error == .tooLarge ? "the message has more than \(NtfyPublication.messageLimit) bytes" : nil
            )
        }
        misbehave(conduct, &outcome)
        core.recorder.add(
            ReceivedRequest(
                service: .unifiedPush,
                receivedAt: now,
                connection: request.connection,
                method: request.method,
                path: request.uri,
                target: topic,
                status: conduct?.sendsNoAnswer == true ? nil : outcome.answer.status,
                reason: outcome.reason,
                detail: outcome.detail,
                misbehaviour: conduct,
                headers: request.headers,
                body: request.body,
                decrypted: outcome.decrypted
            )
        )
        return HTTP1Conduct(withCORS(outcome.answer), misbehaving: conduct)
    }

    private func publish(_ publication: NtfyPublication, now: Int64) -> Outcome {
        let message = NtfyMessage(
            topic: publication.topic,
            body: publication.body,
            isUnifiedPush: publication.isUnifiedPush,
            now: now / 1_000,
            random: core.random
        )
        var outcome = Outcome(answer: HTTPAnswer(status: 200, json: message.json))
        let receiver = core.withState { $0.receivers[publication.topic] }
        guard let receiver else { return outcome }
        // A push server cannot look inside and takes anything; the record says what the device would have met.
        if publication.isEncrypted {
            do {
                outcome.decrypted = try receiver.open(publication.body)
            } catch {
                outcome.detail = "the device cannot read it: \(error)"
            }
        } else {
            outcome.detail = "the device cannot read it: there is no Content-Encoding aes128gcm"
        }
        return outcome
    }

    private func misbehave(_ conduct: Misbehaviour.Conduct?, _ outcome: inout Outcome) {
        switch conduct {
        case .answer(let ordered):
            if ordered.status >= 300 {
                var error = NtfyError.usual(for: ordered.status)
                error.error = ordered.reason ?? error.error
                outcome.answer = HTTPAnswer(status: ordered.status, json: error.json)
                outcome.reason = error.error
            }
            outcome.answer.apply(ordered)
        case .html(let status): outcome.answer = HTTPAnswer(htmlWithStatus: status)
        default: break
        }
    }

    private func withCORS(_ answer: HTTPAnswer) -> HTTPAnswer {
        var answer = answer
        answer.headers.append(LabHeader("access-control-allow-origin", "*"))
        return answer
    }
}
