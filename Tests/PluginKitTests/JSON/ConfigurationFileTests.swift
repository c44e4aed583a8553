import Foundation
import PluginKit
import Testing

/// Files of a configuration: those that the host read, and those on disk.
struct ConfigurationFileTests {
    private func block(_ text: String) throws -> JSONObject { try JSONObject(parsing: text) }

    private func file(_ text: String) throws -> ConfigurationFile {
        try #require(try block(text).file("key_file", expected: "the path of a key"))
    }

    @Test func fileComesFromTheHost() throws {
        let file = try file(#"{"key_file":"/no/where","$files":{"/no\/where":"se\u0063ret\n"}}"#)
        #expect(file.path == "/no/where")
        #expect(try file.text() == "secret\n")
        #expect(try file.bytes() == Array("secret\n".utf8))
    }

    @Test func fileMayBeBinary() throws {
        let file = try file(#"{"key_file":"k","$files":{"k":{"base64":"MIL/AA=="}}}"#)
        #expect(try file.bytes() == [0x30, 0x82, 0xFF, 0x00])
        let error = #expect(throws: PluginError.self) { try file.text() }
        #expect(error?.description == "key_file: expected a UTF-8 text file, but k is not one")
    }

    @Test(arguments: [#"{"base64":"MIL_AA=="}"#, #"{"base64":1}"#, "{}", "[]", "null", "1"])
    func malformedHostFileIsAnError(_ content: String) throws {
        let file = try file(#"{"key_file":"k","$files":{"k":\#(content)}}"#)
        let error = #expect(throws: PluginError.self) { try file.bytes() }
        #expect(error?.description == "key_file: expected a file that can be read, the host's copy of k cannot be")
    }

    @Test func fileIsReadFromDiskWithoutAHost() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "carillon-\(UUID().uuidString)").path
        try Data("on disk".utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try file(#"{"key_file":"\#(path)"}"#).text() == "on disk")
        #expect(try file(#"{"key_file":"\#(path)","$files":{"another":""}}"#).text() == "on disk")
        let error = #expect(throws: PluginError.self) { try file(#"{"key_file":"/no/where"}"#).text() }
        #expect(
            error?.description == "key_file: expected a file that can be read, /no/where: No such file or directory"
        )
    }

    @Test func severalFilesFormAList() throws {
        let block = try block(#"{"old":["a","b"],"$files":{"a":"1","b":"2"}}"#)
        #expect(try block.files("old", expected: "paths").map { try $0.text() } == ["1", "2"])
        #expect(try block.files("older", expected: "paths").isEmpty)
        #expect(try block.file("older", expected: "a path")?.path == nil)
    }

    @Test func fileKeyIsKnown() throws {
        try block(#"{"key_file":"k","$files":{"k":""}}"#).refuseMembers(except: ["key_file"])
        let error = #expect(throws: PluginError.self) { try block(#"{"$file":1}"#).refuseMembers(except: ["a"]) }
        #expect(error?.description == "$file: unknown key, expected only a")
    }
}
