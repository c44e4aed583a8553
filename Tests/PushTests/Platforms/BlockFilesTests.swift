import PlatformTestSupport
import Push
import Testing

struct BlockFilesTests {
    private static let fcm = #"{"project_id":"a_file","service_account":"b.json","other_file":"c"}"#

    @Test func descriptionMarksKeysThatNameFiles() {
        let files = BlockFiles(PlatformCatalog.builtIn["android"])
        #expect(files.named(in: Self.fcm).map(\.key) == ["service_account"])
        #expect(
            files.resolving(Self.fcm) { "/etc/\($0)" }
                == #"{"project_id":"a_file","service_account":"/etc/b.json","other_file":"c"}"#
        )
    }

    @Test func keyNamesMarkFilesWithoutADescription() {
        let json = #"{"z_files":["1","",2],"a_file":"x","file":"y","b_file":3}"#
        #expect(BlockFiles().named(in: json).map { "\($0.key) \($0.path)" } == ["a_file x", "z_files 1", "z_files "])
        #expect(
            BlockFiles().resolving(json) { "/\($0)" }
                == #"{"z_files":["/1","",2],"a_file":"/x","file":"y","b_file":3}"#
        )
    }

    @Test(arguments: ["", "[]", "{", #"{"a_file":{"b_file":"x"}}"#, "{}"])
    func otherBlocksAreUnchanged(_ json: String) {
        #expect(BlockFiles().named(in: json).isEmpty && BlockFiles().resolving(json) { "/\($0)" } == json)
    }
}
