/// What a run proved, and what it did not.
package struct Verdict: Sendable {
    /// What has to hold.
    package enum Proof: String, CaseIterable, Sendable, Codable {
        case endsOnce = "every delivery ends exactly once in the books"
        case delivered = "what is called delivered was accepted, and what is gone was called so"
        case nothingLost = "every push to a living device arrives"
        case oneAtATime = "never two attempts at once for a device"
        case sameMessage = "the same message with the same id over all attempts"
        case answersMatch = "each answer belongs to its request"
        case refusalsAreOrdered = "the lab refuses nothing that it was not told to"
        case resendsAreSafe = "only what was provably not processed is resent by itself"
        case repeatsExplained = "every repeat follows an attempt that may have been processed"
        case rulesKept = "plugins and outbox keep to their rules"
    }

    package struct Failure: Sendable, Hashable, Codable {
        package let proof: Proof
        /// Which delivery, and what is wrong with it.
        package let text: String
    }

    /// A message that may have come twice to a device.
    package struct Repeat: Sendable {
        package let transport: ChaosTransport
        package let cause: RepeatCause
        /// The push service took both; else it may have.
        package let isCertain: Bool
    }

    package internal(set) var failures: [Failure] = []
    package internal(set) var repeats: [Repeat] = []

    package func failures(of proof: Proof) -> [Failure] { failures.filter { $0.proof == proof } }

    mutating func fail(_ proof: Proof, _ text: String) { failures.append(Failure(proof: proof, text: text)) }
}

/// Why an attempt had to be made again although the one before it may have been processed.
package enum RepeatCause: String, CaseIterable, Sendable, Codable {
    case silence = "no answer"
    case late = "answer too late"
    case reset = "stream reset"
    case dropped = "connection dropped"
    /// The connection was dropped under it for what another request met.
    case droppedWithAnother = "connection dropped for another"
    /// Nobody was told to be late: the machine was.
    case slowMachine = "machine too slow"
}
