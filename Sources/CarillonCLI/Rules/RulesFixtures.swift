import ArgumentParser
import CarillonRouter
import Nostr
import Operations
import YAMLReading

/// `carillon rules fixtures`
struct RulesFixtures: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fixtures",
        abstract: "List the events that come with Carillon for trying rules, or print one.",
        discussion: """
              carillon rules fixtures
              carillon rules fixtures zap > event.json
              carillon rules try --event event.json
            """
    )

    @Argument(help: "The fixture whose event to print.")
    var name: String?

    func run() throws {
        let fixtures = try Fixture.all()
        guard let name else {
            let width = fixtures.map(\.name.count).max() ?? 0
            for fixture in fixtures {
                let name = fixture.name + String(repeating: " ", count: width - fixture.name.count)
                let kind = "\(fixture.event.kind.rawValue)"
                print("\(name)  \(String(repeating: " ", count: max(0, 5 - kind.count)))\(kind)  \(fixture.about)")
            }
            return
        }
        print(try Self.named(name, in: fixtures).json)
    }

    /// Fails with the nearest name when there is none of that name.
    static func named(_ name: String, in fixtures: [Fixture]) throws -> Fixture {
        if let fixture = fixtures.first(where: { $0.name == name }) { return fixture }
        throw ValidationError(
            "no fixture is called '\(name)'\(NearestName.hint(name, among: fixtures.map(\.name))); "
                + "carillon rules fixtures lists them"
        )
    }
}
