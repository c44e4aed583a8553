import Console
import Foundation
import Notifications
import RouterConfiguration
import Rules
import Units
import YAMLReading

/// The signals that events can raise, for those who write apps and rules.
struct SignalCatalogue: Sendable {
    static let schema: JSONTree = [
        "type": "object", "required": ["signals"],
        "properties": [
            "signals": [
                "type": "array",
                "items": [
                    "type": "object", "required": ["signal", "is_built_in", "rules"],
                    "properties": [
                        "signal": ["type": "string"], "is_built_in": ["type": "boolean"],
                        "rules": ["type": "array", "items": ["type": "string"]],
                        "example": [
                            "type": "object",
                            "description": "As POST /v1/rules/try answers for a fixture that raises it.",
                        ],
                    ],
                ],
            ]
        ],
    ]

    private struct Entry: Sendable {
        let signal: Signal
        /// The names of rules in force that name it.
        let rules: [String]
        /// JSON.
        var example: String?
    }

    private var entries: [Entry]

    init(_ book: RuleBook) {
        let books = [book] + book.ofApps.sorted { $0.key < $1.key }.map(\.value)
        let named = books.reduce(into: Set<Signal>()) { $0.formUnion($1.namedSignals) }
        let further = named.subtracting(Signal.wellKnown).sorted { $0.rawValue < $1.rawValue }
        entries = (Signal.wellKnown + further).map { signal in
            var names: [String] = []
            for rule in books.flatMap(\.rules) where rule.signal == signal && !names.contains(rule.name) {
                names.append(rule.name)
            }
            return Entry(signal: signal, rules: names)
        }
    }

    /// Tries fixtures until each signal that one raises has an example. Throws an ``APIProblem``.
    func withExamples(_ configuration: Configuration) async throws -> SignalCatalogue {
        var order = TrialOrder()
        order.configuration = configuration
        order.isWithoutBlocks = true
        var catalogue = self
        do {
            let trial = try await DiskWork.run { [order] in try RulesTrial(order, now: Timestamp.now()) }
            for fixture in try Fixture.all() where fixture.count == 1 {
                guard let report = try? await trial.run(TrialSubject(fixture)),
                    case .wakes(let wakeUp) = report.verdict,
                    let index = catalogue.entries.firstIndex(where: { $0.signal == wakeUp.signal }),
                    catalogue.entries[index].example == nil
                else { continue }
                catalogue.entries[index].example = report.json
            }
            await trial.close()
        } catch let failure as TrialFailure {
            throw APIProblem(503, failure.description)
        } catch let mistakes as Diagnostics {
            throw APIProblem(503, "the rules in force cannot be read any more: \(mistakes.all.first?.message ?? "")")
        }
        return catalogue
    }

    var json: String {
        let entries = entries.map { entry in
            let rules = entry.rules.map(JSONText.quoted).joined(separator: ",")
            let example = entry.example.map { ",\"example\":\($0)" } ?? ""
            return "{\"signal\":\(JSONText.quoted(entry.signal.rawValue)),"
                + "\"is_built_in\":\(Signal.wellKnown.contains(entry.signal)),\"rules\":[\(rules)]\(example)}"
        }
        return "{\"signals\":[\(entries.joined(separator: ","))]}"
    }
}
