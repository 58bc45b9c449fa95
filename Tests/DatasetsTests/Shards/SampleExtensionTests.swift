// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Datasets

@Suite struct SampleExtensionTests {
    private static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0]

    @Test(
        arguments: [
            // The row's name
            ("cat.PNG", "http://h/a.jpg", "image/jpeg", "png"), ("dir.d/cat.jpeg", "http://h/", nil, "jpg"),
            ("archive.tar.gz", "http://h/", nil, "gz"), ("noextension", "http://h/a.gif", "image/gif", "gif"),
            (".hidden", "http://h/a.gif", "image/gif", "gif"), ("a.toolongextension", "http://h/", "image/png", "png"),
            ("a.b-c", "http://h/", "image/png", "png"), ("row.json", "http://h/", nil, "data.json"),
            // The URL's path, if it agrees
            (nil, "http://h/a.JPEG?x=.png", "image/jpeg", "jpg"),
            (nil, "http://h/a.opus", "audio/ogg; codecs=opus", "opus"),
            (nil, "http://h/a.php", "image/png", "png"), (nil, "http://h/a.png", "image/webp", "webp"),
            (nil, "http://h/a%2Etiff", "image/tiff", "tif"), (nil, "no url", "image/png", "png"),
            // The media type
            (nil, "http://h/", "IMAGE/JPG ; q=1", "jpg"), (nil, "http://h/", "text/html; charset=utf-8", "html"),
            (nil, "http://h/", "application/json", "data.json"), (nil, "http://h/", "video/mp4", "mp4"),
            (nil, "http://h/a.xyz", "application/x-unheard-of", "bin"),
            // No media type
            (nil, "http://h/a.gif", nil, "gif"), (nil, "http://h/a.php", nil, "bin"), (nil, "http://h/", "", "bin"),
            (nil, "http://h/a.csv", "application/octet-stream", "csv"),
        ] as [(String?, String, String?, String)]
    )
    func theExtensionIsOfTheFirstThatApplies(_ name: String?, _ url: String, _ type: String?, _ expected: String) {
        #expect(SampleExtension.choose(name: name, url: url, mediaType: type, head: [UInt8]()) == expected)
    }

    @Test func theFirstBytesDecideWithoutASpecificMediaType() {
        func choose(_ url: String, _ type: String?) -> String {
            SampleExtension.choose(name: nil, url: url, mediaType: type, head: Self.jpeg)
        }
        #expect(choose("http://h/a.png", nil) == "jpg")
        #expect(choose("http://h/a", "binary/octet-stream") == "jpg")
        #expect(choose("http://h/a", "application/x-unheard-of") == "jpg")
        #expect(choose("http://h/a", "image/png") == "png")
    }

    @Test(
        arguments: [
            ([0xFF, 0xD8, 0xFF], "image/jpeg"), ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"),
            (Array("GIF89a".utf8), "image/gif"), (Array("RIFF\0\0\0\0WEBPVP8 ".utf8), "image/webp"),
            (Array("RIFF\0\0\0\0WAVEfmt ".utf8), "audio/vnd.wave"), (Array("RIFF\0\0\0\0ABCD".utf8), nil),
            (Array("\0\0\0 ftypavif".utf8), "image/avif"), (Array("\0\0\0 ftypisom".utf8), "video/mp4"),
            (Array("\0\0\0 ftypM4A ".utf8), "audio/mp4"),
            ([0x1A, 0x45, 0xDF, 0xA3, 0x42, 0x82, 0x84] + Array("webm".utf8), "video/webm"),
            ([0x1A, 0x45, 0xDF, 0xA3, 0x42, 0x82], "video/matroska"), (Array("BM12\0\0\0\0\0\0".utf8), "image/bmp"),
            (Array("BMW is a car".utf8), nil), (Array("%PDF-1.7".utf8), "application/pdf"),
            ([0x1F, 0x8B, 8], "application/gzip"),
            ([0x50, 0x4B, 3, 4], "application/zip"),
            ([UInt8](repeating: 0x61, count: 257) + Array("ustar".utf8), "application/x-tar"),
            (Array(" \n<!DOCTYPE HTML>".utf8), "text/html"), (Array("<svg xmlns=".utf8), "image/svg+xml"),
            (Array("<?xml version='1.0'?><!-- --><svg>".utf8), "image/svg+xml"),
            (Array("<?xml?><a/>".utf8), "application/xml"),
            ([0xEF, 0xBB, 0xBF] + Array("{ \"a\": 1}".utf8), "application/json"),
            (Array("[1, 2]".utf8), "application/json"),
            (Array("{not json}".utf8), nil), (Array("[see below]".utf8), nil), (Array("plain text".utf8), nil),
            ([], nil),
        ] as [([UInt8], String?)]
    )
    func theFirstBytesTellTheMediaType(_ bytes: [UInt8], _ type: String?) {
        #expect(ContentSignature.mediaType(of: bytes) == type)
    }
}
