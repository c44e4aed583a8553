/// Everything a transport is checked for, in order. A check returns a remark, or nothing.
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
        (.userURLs, UserURLChecks.userURLs),
        (.secrets, DeliveryChecks.secrets),
        (.messageID, DeliveryChecks.messageID),
        (.modes, ContentChecks.modes),
        (.hostileText, ContentChecks.hostileText),
        (.borrowedMemory, LifecycleChecks.borrowedMemory),
        (.olderHost, LifecycleChecks.olderHost),
        (.newerHost, LifecycleChecks.newerHost),
        (.instances, ContentChecks.instances),
        (.cancel, LifecycleChecks.cancel),
        (.command, CommandChecks.command),
        (.threads, LifecycleChecks.threads),
        (.shutdown, LifecycleChecks.shutdown),
    ]
}
