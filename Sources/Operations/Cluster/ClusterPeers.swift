import Console
import Foundation
import Nostr
import Units

/// The cluster that the router is a member of, as operators' questions need it.
package protocol ClusterPeers: Sendable {
    /// This member.
    var name: String { get }

    /// The other members: those that live, and those that went away without a word.
    var others: [String] { get }

    func ask(_ question: [UInt8], of member: String, within span: Duration) async -> PeerReply

    /// Whether this member owns the partition of an account.
    func owns(_ account: PublicKey) -> Bool
}

/// What came of asking another member.
package enum PeerReply: Sendable, Hashable {
    case answer([UInt8])
    /// None came.
    case silence(MemberSilence)
}

/// Why a member's answer is missing.
package enum MemberSilence: Sendable, Hashable {
    case absent
    case late
    /// The question could not be sent; why.
    case unasked(String)
    case otherVersion

    /// The codes of what ``sentence(of:)`` says.
    static let codes: Set = ["member-absent", "member-late", "member-unasked", "member-version"]

    /// The words go on after the member's name.
    func sentence(of member: String) -> Sentence {
        switch self {
        case .absent: Sentence("member-absent", ["member": member], "is not there")
        case .late: Sentence("member-late", ["member": member], "does not answer in time")
        case .unasked(let why):
            Sentence("member-unasked", ["member": member, "detail": why], "cannot be asked: \(why)")
        case .otherVersion: Sentence("member-version", ["member": member], "answers as another version does")
        }
    }

    /// The same as the reason why somebody is refused.
    func failure(of member: String) -> OperationFailure {
        let sentence = sentence(of: member)
        return .unavailable(Sentence(sentence.says.code, sentence.says.values, "\(member) \(sentence.words)"))
    }
}

/// What a member asks another one, so that whoever asks one of them hears of all. JSON on its way.
enum MemberQuestion: Codable, Sendable, Equatable {
    case status
    /// How much waits in the partitions that it owns, by their numbers.
    case partitions
    /// Counts by day, with the parameters of the API.
    case counts([String: String])
    /// Those whose URL contains the text; nil: all.
    case relays(containing: String?)
    /// With the parameters of the API, as the next three.
    case queue([String: String])
    case delivery(id: String)
    case retry([String: String])
    case drop([String: String])
    case event(EventQuestion)
    case deliveries(DeliveryQuestion)
    /// What only the member that pushes to devices knows of them.
    case devices([Int64])
    case doors
    case plugins
    case keptEvents(KeptEventsQuestion)
    /// What an account may know of itself. In hexadecimal digits, as the next.
    case own(account: String)
    case ownEvent(account: String, event: String)
    /// To hand over all partitions and take none, or to take some again.
    case drain(Bool)
}

/// An answer on its way: one byte, 0 for what was asked for and 1 for a refusal, and either as JSON.
enum MemberAnswer {
    /// NATS takes a MiB unless its operator says otherwise.
    static let longest = 900_000

    /// Why a member does not do what it was asked.
    private struct Refusal: Codable {
        var kind: String
        var words: String
        /// Versions before this one know no such thing.
        var says: Statement?
    }

    static func bytes(_ answer: some Encodable) -> [UInt8] {
        let bytes = [0] + MemberJSON.bytes(answer)
        guard bytes.count <= longest else { return refusal(.unavailable("has more to say than one answer holds")) }
        return bytes
    }

    static func refusal(_ failure: OperationFailure) -> [UInt8] {
        let kind =
            switch failure.kind {
            case .invalid: "invalid"
            case .unknown: "unknown"
            case .unavailable, .unreachable: "unavailable"
            }
        return [1] + MemberJSON.bytes(Refusal(kind: kind, words: failure.description, says: failure.says))
    }

    /// Throws the ``OperationFailure`` of a refusal. Nil: the bytes, which may be anything, are no such answer.
    static func read<Answer: Decodable>(_ bytes: [UInt8], as type: Answer.Type) throws(OperationFailure) -> Answer? {
        switch bytes.first {
        case 0: return MemberJSON.read(bytes.dropFirst(), as: Answer.self)
        case 1:
            guard let refusal = MemberJSON.read(bytes.dropFirst(), as: Refusal.self) else { return nil }
            let kind: OperationFailure.Kind =
                switch refusal.kind {
                case "invalid": .invalid
                case "unknown": .unknown
                default: .unavailable
                }
            throw OperationFailure(kind: kind, description: refusal.words, says: refusal.says)
        default: return nil
        }
    }
}

/// Asks all members of a cluster at once.
struct MemberSurvey: Sendable {
    /// How long members have for what they only read.
    static let patience: Duration = .seconds(3)
    /// The same for what they change, which the servers have to keep.
    static let patienceForChanges: Duration = .seconds(30)

    struct Result<Answer: Sendable>: Sendable {
        /// In the order of the members' names, at least one; the only one where the router serves alone.
        var answers: [(member: String, answer: Answer)]
        /// Nil: the router serves alone.
        var asked: MembersAsked?
    }

    private static let nobody = Sentence("members-silent", [:], "no member of the cluster answers")

    /// Nil: the router serves alone.
    let peers: (any ClusterPeers)?

    /// `here` is this member's own answer. A member that refuses counts as silent, with its words. Throws an
    /// ``OperationFailure`` where this member cannot understand the question, or nobody answers it.
    func ask<Answer: Codable & Sendable>(
        _ question: MemberQuestion,
        within span: Duration = patience,
        here: @escaping @Sendable () async throws -> Answer
    ) async throws -> Result<Answer> {
        guard let peers else { return Result(answers: [("", try await here())]) }
        let bytes = MemberJSON.bytes(question)
        async let replies = Self.replies(to: bytes, from: peers, within: span)
        var result = Result<Answer>(answers: [])
        var silent: [MembersAsked.Silent] = []
        var refusal: OperationFailure?
        do {
            result.answers.append((peers.name, try await here()))
        } catch let failure as OperationFailure where failure.kind != .invalid {
            refusal = failure
            silent.append(MembersAsked.Silent(peers.name, failure))
        }
        for (member, reply) in await replies {
            switch reply {
            case .silence(let why): silent.append(MembersAsked.Silent(member, why))
            case .answer(let bytes):
                do throws(OperationFailure) {
                    if let answer = try MemberAnswer.read(bytes, as: Answer.self) {
                        result.answers.append((member, answer))
                    } else {
                        silent.append(MembersAsked.Silent(member, .otherVersion))
                    }
                } catch {
                    refusal = refusal ?? error
                    silent.append(MembersAsked.Silent(member, error))
                }
            }
        }
        guard !result.answers.isEmpty else { throw refusal ?? .unavailable(Self.nobody) }
        result.answers.sort { $0.member < $1.member }
        result.asked = MembersAsked(answered: result.answers.map(\.member), silent: silent)
        return result
    }

    private static func replies(
        to question: [UInt8],
        from peers: any ClusterPeers,
        within span: Duration
    ) async -> [(String, PeerReply)] {
        await withTaskGroup(of: (String, PeerReply).self) { group in
            for member in peers.others {
                group.addTask { (member, await peers.ask(question, of: member, within: span)) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// What members say to each other, as JSON.
enum MemberJSON {
    static func bytes(_ value: some Encodable) -> [UInt8] {
        // Nothing in here is a number without a spelling in JSON, which is all that can fail.
        (try? JSONEncoder().encode(value)).map(Array.init) ?? []
    }

    /// Nil: the bytes, which may be anything, are nothing of the kind.
    static func read<Value: Decodable>(_ bytes: some Collection<UInt8>, as type: Value.Type) -> Value? {
        try? JSONDecoder().decode(Value.self, from: Data(bytes))
    }
}
