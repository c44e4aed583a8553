/// Everything a transport is checked for, in order. A check returns a remark, or nothing.
enum TransportChecks {
    typealias Body = @Sendable (TransportBench) throws(CheckStop) -> String

    static let all: [(check: ConformanceCheck, body: Body)] = [
        (.createEmpty, { bench throws(CheckStop) in try CreationChecks.createEmpty(bench) }),
        (.createConfigured, { bench throws(CheckStop) in try CreationChecks.createConfigured(bench) }),
        (.createHostile, { bench throws(CheckStop) in try CreationChecks.createHostile(bench) }),
        (.validate, validate),
        (.errorText, { bench throws(CheckStop) in try CreationChecks.errorText(bench) }),
        (.deliver, deliver),
        (.networkFailure, networkFailure),
        (.serverError, serverError),
        (.throttling, throttling),
        (.refusal, refusal),
        (.oddAnswers, oddAnswers),
        (.refusedRequest, refusedRequest),
        (.completes, { bench throws(CheckStop) in try rule(.completes, bench) }),
        (.completesOnce, { bench throws(CheckStop) in try rule(.completesOnce, bench) }),
        (.outcome, { bench throws(CheckStop) in try rule(.outcome, bench) }),
        (.requests, { bench throws(CheckStop) in try rule(.requests, bench) }),
        (.secrets, secrets),
        (.messageID, messageID),
        (.modes, modes),
        (.hostileText, hostileText),
        (.borrowedMemory, borrowedMemory),
        (.olderHost, olderHost),
        (.newerHost, newerHost),
        (.instances, instances),
        (.cancel, cancel),
        (.command, command),
        (.threads, threads),
        (.shutdown, shutdown),
    ]
}
