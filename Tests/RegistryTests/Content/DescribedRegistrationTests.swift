import PlatformTestSupport
import Push
import Testing
import TimeTestSupport

@testable import Registry

/// Registrations on a platform that a third-party transport describes.
struct DescribedRegistrationTests {
    private static let pager = """
        {
          "version": 1, "name": "Pagers", "doc": "Pagers of the fire brigade.",
          "target": {"kind": "token", "pattern": "^[0-9]{4}$", "expected": "the four digits on the pager's back"},
          "fields": [
            {"name": "brigade", "required": true, "doc": "the name of the brigade"},
            {"name": "tone", "pattern": "^(low|high)$", "expected": "low or high"}
          ]
        }
        """

    private func catalog(_ document: String = pager) throws -> PlatformCatalog {
        PlatformCatalog(["pager": try PlatformDescription(parsing: document)])
    }

    private func register(_ members: String, _ bench: Bench) throws -> RegistrationResult {
        try bench.registry.apply(bench.event(of: 1, #"{"platform":"pager",\#(members)}"#))
    }

    @Test(arguments: [
        (#""token":"12345","brigade":"north""#, "token", "the four digits on the pager's back"),
        (#""brigade":"north""#, "token", "the four digits on the pager's back"),
        (#""token":"1234""#, "brigade", "the name of the brigade"),
        (#""token":"1234","brigade":"north","tone":"shrill""#, "tone", "low or high"),
    ])
    func fieldsAreCheckedByTheDescription(members: String, field: String, expected: String) throws {
        let bench = try Bench()
        try bench.registry.replacePlatforms(with: catalog())
        let refusal = RegistrationError.field(field, expected: expected)
        #expect(try register(members, bench) == .refused(refusal))
        #expect(try register(#""token":"1234","brigade":"north","tone":"low""#, bench).isAccepted)
        #expect(try bench.tokens(of: 1) == ["1234"])
    }

    @Test func registrationStaysReadableIfTheTransportRequiresMore() throws {
        let bench = try Bench()
        #expect(try register(#""token":"1234""#, bench).isAccepted, "a platform without a description is not checked")
        let device = try #require(try bench.registry.devices().first?.device)
        try bench.registry.replacePlatforms(with: catalog())
        #expect(try bench.registry.content(of: device)?.token == "1234")
        #expect(try bench.registry.address(of: device)?.token == "1234")
    }

    @Test func unknownPlatformMayHaveAnEndpoint() throws {
        let url = "https://push.example.com/abc"
        for (members, token, fields) in [
            (#""push_endpoint":"\#(url)""#, url, 0),
            (#""subscription":{"endpoint":"\#(url)","keys":\#(keys)}"#, url, 2),
            (#""token":"t","push_endpoint":"\#(url)""#, "t", 0),
        ] {
            let content = try RegistrationContent(json: #"{"platform":"pager",\#(members)}"#)
            #expect(content.token == token && content.fields.count == fields)
        }
    }

    private let keys = #"{"p256dh":"\#(Samples.p256dh)","auth":"\#(Samples.auth)"}"#

    /// If a plugin later declares that users choose its targets, existing registrations are protected too.
    @Test func chosenTargetsComeFromTheDescription() throws {
        let bench = try Bench()
        func register(_ account: UInt8, at seconds: Int64) throws {
            let topic = #"{"platform":"pager","push_endpoint":"https://pager.example/topic"}"#
            bench.clock.time = Bench.time(seconds)
            #expect(try bench.registry.apply(bench.event(of: account, topic, at: seconds)).isAccepted)
        }
        try register(1, at: 1)
        let described = #"{"version":1,"name":"Pagers","target":{"kind":"endpoint","chosen":true}}"#
        try bench.registry.replacePlatforms(with: catalog(described))
        try register(2, at: 2)
        #expect(try bench.tokens(of: 1) == ["https://pager.example/topic"])
        #expect(try bench.registry.devices(of: bench.key(2)).map(\.waitsForCode) == [true])
    }
}
