import Foundation
import HTTPClient
import Push
import Testing

@testable import PluginHost

/// The files that a configuration names are read by the host.
struct ConfigurationFilesTests {
    private static let document = """
        {"version":1,"name":"Pager","target":{"kind":"token"},"configuration":{"schema":{"type":"object","properties":{
          "key_file":{"type":"string","file":true},"old_key_files":{"type":"array","items":{"type":"string"},"file":true},
          "account_file":{"type":"string","file":true,"x-alias":"account"},"ca_file":{"type":"string"}
        }}}}
        """

    private let workshop: Workshop
    private let files: ConfigurationFiles

    init() throws {
        workshop = try Workshop()
        files = ConfigurationFiles(try PlatformDescription(parsing: Self.document))
    }

    private func write(_ name: String, _ text: String) throws -> String {
        try workshop.write(Array(text.utf8), to: name)
    }

    private func mistake(_ configuration: String) -> String? {
        do {
            _ = try files.adding(to: configuration)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func filesAreAddedByPath() throws {
        let key = try write("key", "secret \"1\"\n")
        let added = try files.adding(to: #"{"n":1.50,"key_file":"\#(key)"}"#)
        #expect(added == #"{"n":1.50,"key_file":"\#(key)","$files":{"\#(key)":"secret \"1\"\n"}}"#)
    }

    @Test func filesAreReadFromListsAndOtherSpellings() throws {
        let (one, two) = (try write("one", "1"), try write("two", "2"))
        #expect(
            try files.adding(to: #"{"old_key_files":["\#(one)","\#(two)","\#(one)"]}"#).hasSuffix(
                #","$files":{"\#(one)":"1","\#(two)":"2"}}"#
            )
        )
        #expect(try files.adding(to: #"{"account":"\#(one)"}"#).hasSuffix(#","$files":{"\#(one)":"1"}}"#))
    }

    @Test func binaryFilesAreBase64Encoded() throws {
        let path = try workshop.write([0x30, 0x82, 0xFF, 0x00], to: "push.p12")
        #expect(
            try files.adding(to: #"{"key_file":"\#(path)"}"#).hasSuffix(
                #""$files":{"\#(path)":{"base64":"MIL/AA=="}}}"#
            )
        )
    }

    /// A plugin itself reports errors of other types.
    @Test(arguments: [
        "{}", "[]", "no JSON", #"{"key_file":null}"#, #"{"key_file":1,"old_key_files":"x"}"#,
        #"{"old_key_files":[1]}"#, #"{"ca_file":"/nowhere"}"#, #"{"deeper":{"key_file":"/nowhere"}}"#,
    ])
    func configurationWithoutFilesIsUnchanged(_ configuration: String) throws {
        #expect(try files.adding(to: configuration) == configuration)
    }

    @Test func unmarkedFilesAreNotRead() throws {
        let unmarked = Self.document.replacing(#","file":true"#, with: "")
        for description in [nil, try PlatformDescription(parsing: unmarked)] {
            let configuration = #"{"key_file":"/nowhere"}"#
            #expect(try ConfigurationFiles(description).adding(to: configuration) == configuration)
        }
    }

    @Test func errorsNameKeyAndPathButNoContent() throws {
        #expect(
            mistake(#"{"key_file":"/nowhere/key"}"#)
                == "key_file: expected a file that can be read, /nowhere/key: No such file or directory"
        )
        #expect(
            mistake(#"{"old_key_files":["\#(workshop.folder)"]}"#)
                == "old_key_files: expected a file that can be read, \(workshop.folder) cannot be"
        )
        let most = try write("most", String(repeating: "s", count: 65_536))
        #expect(mistake(#"{"key_file":"\#(most)"}"#) == nil)
        let more = try write("more", String(repeating: "s", count: 65_537))
        #expect(
            mistake(#"{"key_file":"\#(more)"}"#)
                == "key_file: expected a file of at most 65536 bytes, \(more) holds more"
        )
        #expect(mistake(#"{"$files":{}}"#) == "$files: remove this key: only the router sets it")
    }

    @Test func fileContentsTogetherAreLimited() throws {
        let names = try (0..<33).map { number in
            #""\#(try write("file\(number)", String(repeating: "s", count: 65_536)))""#
        }
        let whole = #"{"old_key_files":[\#(names.joined(separator: ","))]}"#
        #expect(mistake(whole) == "expected files with at most 2097152 bytes in total")
    }

    // MARK: With a plugin

    @Test func pluginInCGetsItsFiles() throws {
        let key = try write("key", "sesame")
        let bench = try Bench("files.c", configuration: #"{"key_file":"\#(key)"}"#)
        #expect(bench.log.said == [#"{"\#(key)":"sesame"}"#])
    }

    @Test func missingFileRefusesTheConfiguration() throws {
        try workshop.compile("files.c", to: "plugin.so")
        let log = LogBook()
        let host = workshop.load(log: log)
        let settings = InstanceSettings(sender: RecordingHTTP(), log: log.logger)
        let words = #expect(throws: PluginError.self) {
            try host.makeTransport(
                platform: "pager",
                app: "default",
                configuration: #"{"key_file":"/nowhere/key"}"#,
                settings: settings
            )
        }
        #expect(
            words?.description
                == "the pager transport refuses its configuration: key_file: expected a file that can be "
                + "read, /nowhere/key: No such file or directory"
        )
        #expect(log.said.isEmpty)
    }
}
