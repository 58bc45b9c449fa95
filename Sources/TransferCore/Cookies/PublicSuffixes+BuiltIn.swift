// SPDX-License-Identifier: Apache-2.0
extension PublicSuffixes {
    /// A minimal list for systems without an installed one.
    ///
    /// It has the best known second-level registries of countries and the best known hosting suffixes: about 200 of
    /// 10,000 rules. Below any other suffix a host can set cookies for the hosts of others; install the complete list
    /// (on Debian, the package `publicsuffix`).
    ///
    /// - Source: https://publicsuffix.org/list/, a selection of November 2026.
    public static let builtIn = PublicSuffixes(
        """
        com.ar edu.ar gob.ar net.ar org.ar
        ac.at co.at gv.at or.at
        asn.au com.au edu.au gov.au id.au net.au org.au
        com.bd edu.bd gov.bd net.bd org.bd
        com.br edu.br gov.br net.br org.br
        com.cn ac.cn edu.cn gov.cn net.cn org.cn
        com.co edu.co gov.co net.co org.co
        com.eg edu.eg gov.eg
        com.gr edu.gr gov.gr
        com.hk edu.hk gov.hk net.hk org.hk
        ac.id co.id go.id or.id sch.id web.id
        ac.il co.il gov.il muni.il net.il org.il
        ac.in co.in edu.in firm.in gen.in gov.in ind.in net.in nic.in org.in res.in
        ac.ir co.ir gov.ir
        ac.jp ad.jp co.jp ed.jp go.jp gr.jp lg.jp ne.jp or.jp
        ac.ke co.ke go.ke or.ke
        ac.kr co.kr go.kr ne.kr or.kr pe.kr re.kr
        com.mx edu.mx gob.mx net.mx org.mx
        com.my edu.my gov.my net.my org.my
        com.ng edu.ng gov.ng org.ng
        ac.nz co.nz geek.nz gen.nz govt.nz iwi.nz kiwi.nz maori.nz net.nz org.nz school.nz
        com.pe edu.pe gob.pe
        com.ph edu.ph gov.ph net.ph org.ph
        com.pk edu.pk gov.pk net.pk org.pk
        com.pl edu.pl gov.pl net.pl org.pl
        com.pt edu.pt gov.pt
        com.sa edu.sa gov.sa
        com.sg edu.sg gov.sg net.sg org.sg per.sg
        ac.th co.th go.th in.th or.th
        com.tr edu.tr gov.tr net.tr org.tr
        com.tw edu.tw gov.tw idv.tw net.tw org.tw
        com.ua edu.ua gov.ua in.ua kiev.ua net.ua org.ua
        ac.uk co.uk gov.uk ltd.uk me.uk net.uk nhs.uk org.uk plc.uk police.uk *.sch.uk
        com.ve co.ve gob.ve
        com.vn edu.vn gov.vn net.vn org.vn
        ac.za co.za gov.za net.za org.za web.za
        eu.com gb.net uk.com us.com de.com
        github.io githubusercontent.com gitlab.io pages.dev workers.dev r2.dev netlify.app vercel.app now.sh
        herokuapp.com herokussl.com onrender.com fly.dev deno.dev surge.sh glitch.me replit.app repl.co
        appspot.com web.app firebaseapp.com run.app cloudfunctions.net blogspot.com withgoogle.com
        s3.amazonaws.com *.compute.amazonaws.com *.elb.amazonaws.com cloudfront.net elasticbeanstalk.com amplifyapp.com
        azurewebsites.net azurestaticapps.net blob.core.windows.net web.core.windows.net cloudapp.net azureedge.net
        ondigitalocean.app digitaloceanspaces.com linodeobjects.com readthedocs.io hf.space
        myshopify.com wordpress.com wixsite.com weebly.com bitbucket.io codeberg.page sourceforge.net neocities.org
        dyndns.org no-ip.org duckdns.org ngrok.io ngrok.app ngrok-free.app ts.net
        """
        .split { $0 == " " || $0 == "\n" }
        .joined(separator: "\n")
    )
}
