import CNghttp2
import Testing

@testable import HTTPClient

/// nghttp2's HPACK decoder with its dynamic table, which checks field blocks.
final class HeaderJudge {
    struct Field: Equatable {
        var name: String
        var value: String
        var isNeverIndexed = false
    }

    private let inflater: OpaquePointer

    init() throws {
        var created: OpaquePointer?
        #expect(nghttp2_hd_inflate_new(&created) == 0)
        inflater = try #require(created)
    }

    deinit {
        nghttp2_hd_inflate_del(inflater)
    }

    func changeTableSize(_ size: Int) {
        #expect(nghttp2_hd_inflate_change_table_size(inflater, size) == 0)
    }

    /// Returns the fields; nil if the block is invalid.
    func decode(_ block: [UInt8]) -> [Field]? {
        var fields: [Field] = []
        var start = 0
        while true {
            var field = nghttp2_nv()
            var flags: Int32 = 0
            let count = block.withUnsafeBufferPointer {
                nghttp2_hd_inflate_hd2(inflater, &field, &flags, $0.baseAddress.map { $0 + start }, $0.count - start, 1)
            }
            guard count >= 0 else { return nil }
            start += count
            if UInt32(flags) & NGHTTP2_HD_INFLATE_EMIT.rawValue != 0 {
                fields.append(
                    Field(
                        name: Self.text(field.name, field.namelen),
                        value: Self.text(field.value, field.valuelen),
                        isNeverIndexed: UInt32(field.flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue != 0
                    )
                )
            } else if UInt32(flags) & NGHTTP2_HD_INFLATE_FINAL.rawValue != 0 {
                nghttp2_hd_inflate_end_headers(inflater)
                return start == block.count ? fields : nil
            }
        }
    }

    /// Everything in the dynamic table, latest first.
    var table: [Field] {
        let first = 62
        let end = nghttp2_hd_inflate_get_num_table_entries(inflater)
        guard end >= first else { return [] }
        return (first..<(end + 1)).compactMap { nghttp2_hd_inflate_get_table_entry(inflater, $0)?.pointee }.map {
            Field(name: Self.text($0.name, $0.namelen), value: Self.text($0.value, $0.valuelen))
        }
    }

    var tableSize: Int { nghttp2_hd_inflate_get_dynamic_table_size(inflater) }

    private static func text(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int) -> String {
        String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
}
