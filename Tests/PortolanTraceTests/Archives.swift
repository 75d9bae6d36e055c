// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTrace

/// Shortened recordings of Chromium, Firefox and Portolan.
enum Archives {
    /// Chromium writes pseudo-header fields of HTTP/2 as fields, joins repeated fields with line breaks, and writes a
    /// failure as `_error` of the response.
    static let chromium = #"""
        {"log":{"version":"1.2","creator":{"name":"WebInspector","version":"537.36"},"pages":[{"id":"page_1","startedDateTime":"2026-01-31T12:00:00.000Z","title":"x","pageTimings":{}}],
        "entries":[
        {"_initiator":{"type":"other"},"_priority":"VeryHigh","_resourceType":"document","cache":{},"connection":"443","pageref":"page_1",
         "request":{"method":"GET","url":"https://example.org/","httpVersion":"http/2.0","headers":[{"name":":authority","value":"example.org"},{"name":"accept","value":"*/*"}],
          "queryString":[],"cookies":[],"headersSize":-1,"bodySize":0},
         "response":{"status":301,"statusText":"","httpVersion":"http/2.0","headers":[{"name":"location","value":"/home"}],"cookies":[],
          "content":{"size":0,"mimeType":"x-unknown"},"redirectURL":"/home","headersSize":-1,"bodySize":-1,"_transferSize":120,"_error":null},
         "serverIPAddress":"192.0.2.1","startedDateTime":"2026-01-31T12:00:00.000Z","time":12.5,
         "timings":{"blocked":1,"dns":2,"ssl":3,"connect":4,"send":0.5,"wait":5,"receive":0,"_blocked_queueing":0.2}},
        {"cache":{},"request":{"method":"GET","url":"https://example.org/home#top","httpVersion":"http/2.0","headers":[],"queryString":[],"cookies":[],"headersSize":-1,"bodySize":0},
         "response":{"status":200,"statusText":"","httpVersion":"http/2.0","headers":[{"name":"content-type","value":"text/html; charset=ISO-8859-1"},{"name":"content-encoding","value":"br"},
          {"name":"content-length","value":"17"},{"name":"vary","value":"a\nb"}],"cookies":[],
          "content":{"size":5,"mimeType":"text/html","text":"<b>é</b>","compression":-12},"redirectURL":"","headersSize":-1,"bodySize":-1},
         "startedDateTime":"2026-01-31T12:00:00.020Z","time":30,"timings":{"blocked":-1,"dns":-1,"ssl":-1,"connect":-1,"send":1,"wait":9,"receive":20}},
        {"cache":{},"request":{"method":"GET","url":"https://example.org/dot.gif","httpVersion":"http/2.0","headers":[],"queryString":[],"cookies":[],"headersSize":-1,"bodySize":0},
         "response":{"status":200,"statusText":"","httpVersion":"http/2.0","headers":[{"name":"content-type","value":"image/gif"}],"cookies":[],
          "content":{"size":4,"mimeType":"image/gif","text":"R0n/AA==","encoding":"base64"},"redirectURL":"","headersSize":-1,"bodySize":4},
         "startedDateTime":"2026-01-31T12:00:00.030Z","time":1,"timings":{"send":0,"wait":1,"receive":0}},
        {"cache":{},"request":{"method":"GET","url":"https://nosuch.invalid/","httpVersion":"","headers":[],"queryString":[],"cookies":[],"headersSize":-1,"bodySize":0},
         "response":{"status":0,"statusText":"","httpVersion":"","headers":[],"cookies":[],"content":{"size":0,"mimeType":"x-unknown"},"redirectURL":"","headersSize":-1,"bodySize":-1,
          "_error":"net::ERR_NAME_NOT_RESOLVED"},"startedDateTime":"2026-01-31T12:00:00.040Z","time":3,"timings":{"send":0,"wait":0,"receive":0}}
        ]}}
        """#

    /// Firefox writes the fields of posted forms, and omits bodies or truncates them at its limit.
    static let firefox = #"""
        {"log":{"version":"1.2","creator":{"name":"Firefox","version":"140.0"},"browser":{"name":"Firefox","version":"140.0"},"pages":[],"entries":[
        {"startedDateTime":"2026-01-31T13:00:00.000+01:00","request":{"bodySize":7,"method":"POST","url":"http://example.org/form","httpVersion":"HTTP/1.1",
          "headers":[{"name":"Content-Type","value":"application/x-www-form-urlencoded"}],"cookies":[],"queryString":[],"headersSize":300,
          "postData":{"mimeType":"application/x-www-form-urlencoded","params":[{"name":"a","value":"1"}],"text":"a=1"}},
         "response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","headers":[{"name":"Content-Type","value":"text/plain"}],"cookies":[],
          "content":{"mimeType":"text/plain","size":3,"text":"one"},"redirectURL":"","headersSize":100,"bodySize":103},
         "cache":{},"timings":{"blocked":0,"dns":0,"connect":0,"ssl":0,"send":0,"wait":2,"receive":0},"time":2,"_securityState":"insecure","serverIPAddress":"192.0.2.1","connection":"80","pageref":"page_1"},
        {"startedDateTime":"2026-01-31T13:00:01.000+01:00","request":{"bodySize":3,"method":"POST","url":"http://example.org/form","httpVersion":"HTTP/1.1","headers":[],"cookies":[],"queryString":[],"headersSize":300,
          "postData":{"mimeType":"","params":[],"text":"a=2"}},
         "response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","headers":[],"cookies":[],"content":{"mimeType":"text/plain","size":3,"text":"two"},"redirectURL":"","headersSize":100,"bodySize":103},
         "cache":{},"timings":{"send":0,"wait":2,"receive":0},"time":2},
        {"startedDateTime":"2026-01-31T13:00:02.000+01:00","request":{"bodySize":0,"method":"GET","url":"http://example.org/large","httpVersion":"HTTP/1.1","headers":[],"cookies":[],"queryString":[],"headersSize":300},
         "response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","headers":[],"cookies":[],"content":{"mimeType":"text/plain","size":2000000,"text":"only the beginning"},"redirectURL":"","headersSize":100,"bodySize":103},
         "cache":{},"timings":{"send":0,"wait":2,"receive":0},"time":2},
        {"startedDateTime":"2026-01-31T13:00:03.000+01:00","request":{"bodySize":0,"method":"GET","url":"http://example.org/unread","httpVersion":"HTTP/1.1","headers":[],"cookies":[],"queryString":[],"headersSize":300},
         "response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","headers":[],"cookies":[],"content":{"mimeType":"text/plain","size":9,"comment":"Response bodies are not included."},"redirectURL":"","headersSize":100,"bodySize":103},
         "cache":{},"timings":{"send":0,"wait":2,"receive":0},"time":2},
        {"startedDateTime":"2026-01-31T13:00:04.000+01:00","request":{"bodySize":0,"method":"GET","url":"http://example.org/blocked","httpVersion":"","headers":[],"cookies":[],"queryString":[],"headersSize":-1},
         "response":{"status":0,"statusText":"","httpVersion":"","headers":[],"cookies":[],"content":{"mimeType":"","size":0,"text":""},"redirectURL":"","headersSize":-1,"bodySize":-1},
         "cache":{},"timings":{},"time":0}
        ]}}
        """#

    /// An archive with only the members that the parser requires.
    static let minimal = #"{"log":{"entries":[{"request":{"method":"GET","url":"http://h/"},"response":{"status":204}}]}}"#

    /// A trace of Portolan, with a redirect, a binary body in two pieces, and a failure with an error code of a plugin.
    static let events = #"""
        {"creator":{"name":"Portolan","version":"0.1.0"},"loads":[
        {"began":"2026-01-31T12:00:00.000Z","events":[
         {"event":"started","time":0.000,"url":"x:first","method":"GET","handler":"org.example.x"},
         {"event":"redirect","time":10.000,"status":null,"url":"x:second","headers":[]},
         {"event":"step","time":11.000,"step":"connected"},
         {"event":"response","time":20.000,"url":"x:second","status":null,"mime":"a/b","encoding":null,"length":4,"filename":"second","headers":[["age","1"]]},
         {"event":"data","time":30.000,"bytes":2,"base64":"AP8="},
         {"event":"data","time":50.000,"bytes":2,"base64":"gAo="},
         {"event":"trailers","time":50.000,"headers":[["x-sum","1"]]},
         {"event":"finished","time":60.000,"bytes":4,"redirects":1}],"lostEvents":0},
        {"began":"2026-01-31T12:00:01.000Z","events":[
         {"event":"started","time":0.000,"url":"x:broken","method":"GET","handler":null},
         {"event":"failed","time":5.000,"code":"org.example.x:7","message":"it broke","exit":109}],"lostEvents":0},
        {"began":"2026-01-31T12:00:02.000Z","events":[{"event":"failed","time":0.000,"code":"badURL","message":"no URL","exit":3}],"lostEvents":0},
        {"began":"2026-01-31T12:00:03.000Z","events":[
         {"event":"started","time":0.000,"url":"x:cancelled","method":"GET","handler":null},
         {"event":"response","time":20.000,"url":"x:cancelled","status":null,"mime":null,"encoding":null,"length":9,"filename":"x","headers":[]},
         {"event":"data","time":30.000,"bytes":2,"base64":"AP8="},
         {"event":"failed","time":5.000,"code":null,"message":"interrupted","exit":130}],"lostEvents":0}
        ]}
        """#
}
