import Console
import RouterConfiguration
import Units
import YAMLReading

/// What rules are to be tried on, from a request.
struct TrialRequest: Sendable {
    private let order: TrialOrder
    private let subject: TrialSubject

    init(_ call: APICall) throws {
        let object = try RequestObject(
            call,
            members: [
                "rules", "fixture", "event", "recipient", "platforms", "mode", "language", "author", "followed",
            ]
        )
        var order = TrialOrder()
        order.isWithoutBlocks = true
        order.rulesText = try object.text("rules")
        order.recipient = try object.text("recipient")
        order.platforms = try object.texts("platforms") ?? []
        order.mode = try object.text("mode") ?? order.mode
        order.language = try object.text("language")
        order.authorName = try object.text("author")
        order.isAuthorFollowed = try object.flag("followed") ?? false
        self.order = order
        switch (try object.text("fixture"), object.has("event")) {
        case (let name?, false):
            guard let fixture = try Fixture.all().first(where: { $0.name == name }) else {
                throw APIProblem(
                    400,
                    Sentence(
                        "unknown-fixture",
                        ["fixture": String(name.prefix(40))],
                        "fixture: there is no such fixture; carillon rules fixtures lists them"
                    )
                )
            }
            subject = TrialSubject(fixture)
        case (nil, true):
            do {
                subject = try TrialSubject(event: try object.json("event"), name: "event")
            } catch let failure as TrialFailure {
                throw Self.problem(failure)
            }
        default: throw APIProblem(400, "expected either fixture or event")
        }
    }

    /// Throws an ``APIProblem``.
    func report(_ configuration: Configuration) async throws -> String {
        var order = order
        order.configuration = configuration
        do {
            let trial = try await DiskWork.run { [order] in try RulesTrial(order, now: Timestamp.now()) }
            do {
                let report = try await trial.run(subject)
                await trial.close()
                return report.json
            } catch {
                await trial.close()
                throw error
            }
        } catch let failure as TrialFailure {
            throw Self.problem(failure)
        } catch let mistakes as Diagnostics {
            throw APIProblem(422, mistakes: mistakes)
        }
    }

    /// Commands have options where the API has members.
    private static func problem(_ failure: TrialFailure) -> APIProblem {
        let words = failure.description.replacing("--", with: "")
        guard let says = failure.says else { return APIProblem(400, words) }
        return APIProblem(400, Sentence(says.code, says.values, words))
    }
}
