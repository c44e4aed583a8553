import CommandTestSupport
import Foundation
import Testing

@testable import PluginHost

/// Bad files next to a good one: each is rejected by name with its reason, and the good one loads.
struct RefusalTests {
    /// Loads a folder with a good plugin and the file from `prepare`; returns why `bad.so` was rejected.
    private func refusal(
        pins: [String: String] = [:],
        _ prepare: (Workshop) throws -> Void
    ) throws -> PluginLoadError.Reason {
        let workshop = try Workshop()
        try workshop.compile("descriptor.c", to: "good.so", [#"-DPLATFORM="good""#])
        try prepare(workshop)
        let host = workshop.load(pins: pins)
        #expect(host.catalog.plugins.map(\.id) == ["org.example.good"])
        #expect(host.platforms == ["good"])
        #expect(host.catalog.refusals.map(\.path) == [workshop.path("bad.so")])
        return try #require(host.catalog.refusals.first).reason
    }

    private func refusal(compiledWith flags: String...) throws -> PluginLoadError.Reason {
        try refusal { try $0.compile("descriptor.c", to: "bad.so", flags) }
    }

    @Test func validPluginLoadsWithoutErrors() throws {
        let workshop = try Workshop()
        try workshop.compile("descriptor.c", to: "good.so", [#"-DPLATFORM="good""#, "-DWITH_FILTER"])
        try workshop.write("not a plugin".utf8, to: "README")
        let host = workshop.load()
        let plugin = try #require(host.catalog.plugins.first)
        #expect(host.catalog.refusals.isEmpty)
        #expect(plugin.version == "1.2.3")
        #expect(plugin.path == workshop.path("good.so"))
        #expect(plugin.platforms == ["good"])
        #expect(plugin.filters.map(\.name) == ["good-filter"])
        let independent = try CommandRun("sha256sum", [plugin.path]).output
        #expect(independent.hasPrefix(plugin.sha256 + " "))
    }

    @Test func textFileIsRefused() throws {
        #expect(try refusal { try $0.write("#!/bin/sh\n".utf8, to: "bad.so") } == .notELF)
    }

    @Test func emptyFileIsRefused() throws {
        #expect(try refusal { try $0.write([], to: "bad.so") } == .empty)
    }

    @Test(arguments: [20, 64, 500, 5000]) func truncatedFileIsRefused(length: Int) throws {
        let reason = try refusal { workshop in
            let whole = try Data(contentsOf: URL(filePath: workshop.path("good.so")))
            try #require(whole.count > 2 * length)
            try workshop.write(whole.prefix(length), to: "bad.so")
        }
        #expect(reason == .truncated)
    }

    @Test func executableIsRefused() throws {
        let reason = try refusal { workshop in
            try workshop.write("int main(void) { return 0; }".utf8, to: "main.c")
            let result = try CommandRun("cc", ["-no-pie", "-o", workshop.path("bad.so"), workshop.path("main.c")])
            try #require(result.status == 0, "\(result.output)")
        }
        #expect(reason == .notASharedObject)
    }

    @Test func foreignMachineIsRefused() throws {
        let reason = try refusal { workshop in
            var image = try Data(contentsOf: URL(filePath: workshop.path("good.so")))
            image[18] = 8
            try workshop.write(image, to: "bad.so")
        }
        #expect(reason == .wrongMachine)
    }

    @Test func missingLibraryIsNamed() throws {
        let reason = try refusal { workshop in
            try workshop.write("void nowhere(void); void f(void); void f(void) { nowhere(); }".utf8, to: "f.c")
            try workshop.compile(workshop.path("f.c"), to: "bad.so")
        }
        guard case .notLoadable(let error) = reason else {
            Issue.record("\(reason)")
            return
        }
        #expect(error.contains("nowhere"))
    }

    @Test func wrongSymbolIsRefused() throws {
        #expect(try refusal(compiledWith: "-DWRONG_SYMBOL") == .noEntry)
    }

    @Test func otherMajorVersionIsNamed() throws {
        let reason = try refusal(compiledWith: "-DV2_ONLY")
        #expect(reason == .otherMajor(2))
        #expect(reason.description.contains("major version 2, this router uses 1"))
    }

    @Test func nullEntryIsRefused() throws {
        #expect(try refusal(compiledWith: "-DNULL_ENTRY") == .refusedItself)
    }

    @Test(arguments: ["create", "destroy", "deliver"]) func missingFunctionIsNamed(function: String) throws {
        let reason = try refusal(compiledWith: "-DNO_\(function.uppercased())", "-Wno-unused-function")
        #expect(reason == .missingFunction(function, of: "transport fixture"))
    }

    @Test func missingFunctionOfAFilterIsNamed() throws {
        #expect(try refusal(compiledWith: "-DNO_DECIDE") == .missingFunction("decide", of: "filter fixture-filter"))
    }

    @Test(arguments: [
        #"-DID="""#, #"-DID="a\xff""#, #"-DID="a\nb""#, #"-DVERSION="""#, #"-DPLATFORM="""#, #"-DPLATFORM="i OS""#,
        #"-DPLATFORM="\xff""#, "-DPLUGIN_SIZE=0", "-DPLUGIN_SIZE=70000", "-DTRANSPORT_SIZE=0",
        "-DTRANSPORT_SIZE=0xffffffff",
        "-DNULL_TRANSPORT", "-DNULL_TRANSPORTS", "-DMANY_TRANSPORTS", "-DNO_TRANSPORTS", "-DENDLESS_FILTERS",
        "-DPLUGIN_SIZE=8",
    ])
    func wrongDescriptorIsRefused(flag: String) throws {
        let reason = try refusal(compiledWith: flag, #"-DVERSION_WORD="x""#, "-Wno-unused-const-variable")
        guard case .badDescriptor = reason else {
            Issue.record("\(flag): \(reason)")
            return
        }
    }

    @Test func tooShortTransportLacksItsFunctions() throws {
        let reason = try refusal(compiledWith: "-DTRANSPORT_SIZE=offsetof(carillon_transport, destroy)")
        #expect(reason == .missingFunction("destroy", of: "transport fixture"))
    }

    @Test func platformIsServedByOnePlugin() throws {
        let reason = try refusal(compiledWith: "-DSAME_TRANSPORT_TWICE")
        guard case .nameTaken("platform fixture", _) = reason else {
            Issue.record("\(reason)")
            return
        }
    }

    @Test func takenPlatformAndIDAreRefused() throws {
        let workshop = try Workshop()
        let first = try workshop.compile("descriptor.c", to: "a.so", [#"-DPLATFORM="one""#])
        try workshop.compile("descriptor.c", to: "b.so", [#"-DPLATFORM="one""#, #"-DID="other""#])
        try workshop.compile("descriptor.c", to: "c.so", [#"-DPLATFORM="two""#, #"-DID="org.example.one""#])
        let host = workshop.load()
        #expect(host.catalog.plugins.map(\.path) == [first])
        #expect(
            host.catalog.refusals.map(\.reason) == [
                .nameTaken("platform one", by: first), .idTaken("org.example.one", by: first),
            ]
        )
    }
}
