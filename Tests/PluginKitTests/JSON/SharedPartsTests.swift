import Foundation
import PluginKit
import PluginTestSupport
import Testing

/// Parts of payloads that several plugins build the same way.
struct SharedPartsTests {
    private func written(_ write: (inout JSONWriter) throws -> Void) rethrows -> String {
        var writer = JSONWriter()
        writer.beginObject()
        try write(&writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func buttonsAreAnArray() throws {
        var sample = SampleNotification()
        #expect(sample.withABI { Notification($0).actionsJSON() } == nil)
        sample.actions = [
            .init(id: "a\"", label: "A\n", url: "app://a", icon: "heart"), .init(id: "b", label: ""),
            .init(id: "c", label: "C"), .init(id: "d", label: "D"),
        ]
        #expect(
            sample.withABI { Notification($0).actionsJSON(limit: 2) }
                == #"[{"id":"a\"","label":"A\n","url":"app://a","icon":"heart"},{"id":"c","label":"C"}]"#
        )
    }

    @Test(arguments: [("", true), ("{}", true), (#"{"v":1}"#, true), ("[]", false), ("{", false), ("x", false)])
    func sealedFieldIsAnObjectOrEmpty(_ sealed: String, _ isObject: Bool) throws {
        var sample = SampleNotification()
        sample.sealed = sealed
        let read = { try sample.withABI { try Notification($0).sealed.jsonObject() } }
        guard isObject else {
            #expect(throws: JSONError.self) { try read() }
            return
        }
        let object = try read()
        let text = written { writer in
            writer.key("sealed")
            writer.object(object)
        }
        #expect(text == #"{"sealed":\#(sealed.isEmpty ? "{}" : sealed)}"#)
    }

    @Test func overridesReplaceDataMembers() throws {
        let data = try JSONObject(parsing: #"{"a":1,"referenced_event_content":"caf\u00e9 au lait","b":[ 2 ]}"#)
        let overrides = try JSONObject(parsing: #"{"\u0061":9}"#)
        var length = 0
        #expect(
            written { length = $0.members(ofData: data, except: overrides) }
                == #"{"referenced_event_content":"caf\u00e9 au lait","b":[ 2 ]}"#
        )
        #expect(length == 17)
        #expect(
            written { length = $0.members(ofData: data, referencedContent: 9) }
                == #"{"a":1,"referenced_event_content":"café …","b":[ 2 ]}"#
        )
        #expect(length == 9)
        #expect(written { length = $0.members(ofData: data, referencedContent: 3) } == #"{"a":1,"b":[ 2 ]}"#)
        #expect(length == 0)
        let number = try JSONObject(parsing: #"{"referenced_event_content":7}"#)
        #expect(
            written { length = $0.members(ofData: number, referencedContent: 0) } == #"{"referenced_event_content":7}"#
        )
        #expect(length == 0)
    }
}
